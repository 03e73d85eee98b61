// A worker that would like to be a member, as the leader sees it. Plain state.
#pragma once

#include <set>

#include "edl/base/time.h"
#include "edl/model/position.h"

namespace edl::membership {

struct Candidate {
  bool admitted = false;  // it may get the state
  bool ready = false;     // it holds one
  model::Position here{};
  std::set<model::WorkerId> unreachable{};
  Time since{};                 // when it was ready
  std::uint64_t lag = 0;        // steps that it is behind the leader
  std::uint64_t least_lag = 0;  // so far
  int records_without_gain = 0;

  // It is ready with the state after `now`, while the leader is at `leader`.
  void is_at(const model::Position& now, model::Step leader, Time time);
  // So near that the last record alone brings it to where the leader is.
  bool is_near(model::Step leader) const;
  // It never comes near by itself: the others have to wait for it.
  bool keeps_behind() const;
};

}  // namespace edl::membership
