// The view change that a leader makes: where it stands, and what it was told. Plain state.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "edl/membership/balance.h"
#include "edl/membership/facts.h"
#include "edl/model/position.h"
#include "edl/model/view.h"

namespace edl::membership {

enum class ChangePhase { kIdle, kAnnouncing, kPreparing, kHandingOver, kPublishing };

struct ViewChange {
  struct Asked {
    bool promised = false;
    model::Position here{};
    std::set<model::WorkerId> unreachable{};
  };

  ChangePhase phase = ChangePhase::kIdle;
  model::Generation generation{};
  model::Step stop_after{};
  std::optional<model::Step> meets_until{};  // announced: joiners may come near up to this step
  std::map<model::WorkerId, Asked> asked{};  // members, and joiners once L is known
  Ids kept{};                                // members that can go on, in rank order
  std::set<model::WorkerId> joiners{};
  model::Step last{};                        // L: the last step that counts
  std::optional<Time> yields_at{};           // it waits so long for others to replace it
  Time since{};                              // when the phase began
  std::map<model::WorkerId, Time> told{};    // when a worker was last asked for something
  std::optional<model::View> next{};         // on its way to the store
  std::optional<Balance::Verdict> uneven{};  // why logical workers move, if that is all
};

}  // namespace edl::membership
