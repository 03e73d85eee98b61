// How fast the members are, as they tell it themselves; whether carrying the logical workers in
// another way is worth a new view; and who has been slow for so long that another worker should
// take its place. Plain state; time is an argument.
//
// A member that is slow is relieved as soon as that is certain. Who has nothing to carry cannot
// show that it is fast again, so it is tried once more after a pause; such tries become rare.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/time.h"
#include "edl/membership/facts.h"
#include "edl/model/view.h"

namespace edl::membership {

class Balance {
 public:
  static constexpr double kWorthwhile = 0.8;  // steps must become so much shorter, or less
  static constexpr double kLikeMost = 0.8;    // above this, and below 1 / this, nobody differs
  // Who falls below this share, and stays slower than most, gets a successor.
  static constexpr double kSlow = 0.6;
  static constexpr Duration kSeenAtLeast = 2s;  // so long it must look uneven
  static constexpr Duration kLookEvery = 250ms;
  static constexpr Duration kPauseFirst = 5s;  // between two changes that no slow member forces
  static constexpr Duration kPauseMost = 300s;

  // Why logical workers should move.
  struct Verdict {
    model::Cause cause = model::Cause::kRebalance;
    model::WorkerId who{};
    std::string reason{};
  };

  // A member computes so many samples a second.
  void tell(const model::WorkerId& id, double speed, Time now);
  // A view was made; `before` is the one that it replaces, if any.
  void on_view(const model::View& view, const std::optional<model::View>& before, Time now);
  // Of each of these: 1 when it is as fast as most, or when nothing is known of it.
  std::vector<double> speeds(const Ids& members, const std::optional<model::View>& view,
                             Time now) const;

  // Compares the view with the best that there could be. `patience`: how long it must look uneven,
  // beside kSeenAtLeast.
  std::optional<Verdict> look(const model::View& view, Duration patience, Time now);
  // Who has been slow for so long, without a sign of being better. Each successor that was asked
  // for doubles that time: where machines differ, another worker may be no better.
  std::optional<model::WorkerId> slow_since_long(const model::View& view, Duration how_long,
                                                 Time now) const;

  std::string state_text(Time now) const;

 private:
  struct Told {
    double speed = 0;
    Time at{};
  };
  Verdict explain(const model::View& view, const std::vector<double>& speeds, Time now) const;
  void note_slow(const model::View& view, const std::vector<double>& speeds, Time now);
  bool is_tried_again(const model::Member& member, Time now) const;

  std::map<model::WorkerId, Told> told_;
  std::map<model::WorkerId, Time> slow_since_;
  std::optional<Time> uneven_since_;
  int successors_ = 0;
  Time look_at_{};
  Time changed_at_{};  // when logical workers moved among the same members
  Duration pause_ = kPauseFirst;
};

}  // namespace edl::membership
