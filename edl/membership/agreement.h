// Whether members still hold the same state, as it should always be. Each makes marks of its own
// now and then; who leads compares them with those that others tell.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "edl/model/view.h"

namespace edl::membership {

// What came of looking at a piece of the state after each of some steps, the last of them here.
struct StateMark {
  model::Step step{};
  std::uint64_t digest = 0;  // 0: there is none

  bool operator==(const StateMark&) const = default;
};

class Agreement {
 public:
  // Steps come in ascending order, but for a state that is loaded anew. Answers a sentence for each
  // that is known now to hold another one.
  std::vector<std::string> tell_own(const model::WorkerId& self, const StateMark& mark);
  // Of another worker. Each is named once.
  std::optional<std::string> tell(const model::WorkerId& id, const StateMark& mark);
  // Who was a member and is none any more comes back with the state of others.
  void keep(const std::vector<model::Member>& before, const model::View& view);

  // The newest of our own.
  StateMark own() const { return own_.empty() ? StateMark() : own_.back(); }

 private:
  std::optional<std::string> difference(const model::WorkerId& id, const StateMark& mark);

  model::WorkerId self_;
  std::deque<StateMark> own_;
  std::map<model::WorkerId, StateMark> ahead_;  // of steps that we have not come to
  std::set<model::WorkerId> told_;
};

}  // namespace edl::membership
