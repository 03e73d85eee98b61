// Workers that asked to join and were not let in, because somebody does not reach them: each is
// looked at again after a pause that doubles. So a link that stays broken costs fewer and fewer
// views. Plain state.
#pragma once

#include <algorithm>
#include <map>

#include "edl/base/time.h"
#include "edl/model/ids.h"

namespace edl::membership {

class Refusals {
 public:
  struct Refusal {
    Duration pause{};
    Time until{};
  };
  static constexpr Duration kFirst = 500ms;
  static constexpr Duration kMost = 60s;

  void refuse(const model::WorkerId& id, Time now) {
    Refusal& refusal = refused_[id];
    refusal.pause = std::clamp(2 * refusal.pause, kFirst, kMost);
    refusal.until = now + refusal.pause;
  }
  bool is_refused(const model::WorkerId& id, Time now) const {
    const auto found = refused_.find(id);
    return found != refused_.end() && now < found->second.until;
  }
  const std::map<model::WorkerId, Refusal>& all() const { return refused_; }

 private:
  std::map<model::WorkerId, Refusal> refused_;
};

}  // namespace edl::membership
