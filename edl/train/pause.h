// How long a change of the view kept this member from training, what the time went into, and how
// long the next one will. Plain state: times in, the fields of the second `view` event out.
#pragma once

#include <optional>

#include "edl/base/json.h"
#include "edl/base/time.h"
#include "edl/model/view.h"

namespace edl::train {

// A pause and what it goes into, in the terms of the `view` event; `transfer` is part of `agree`.
struct Pause {
  Duration whole{};
  Duration detect{};
  Duration agree{};
  Duration transfer{};
  Duration resume{};
};

class PauseClock {
 public:
  // Something is wrong, or is asked for; the first time counts.
  void noticed(Time now);
  void prepared(Time now);      // we promise
  void handing_over(Time now);  // we wait for a record
  struct Entered {
    model::Cause cause = model::Cause::kStart;
    std::uint32_t parts_redone = 0;
    std::uint64_t steps_lost = 0;
  };
  void entered(Time now, const Entered& facts);
  // The store took so long for a write.
  void store_answered(Duration took) { store_write_ = took; }
  // Answers what the view cost, at the first step that is completed in it.
  std::optional<Json> completed(Time now, Duration median_step);

  // How long a change of this cause will keep us, from those before it; until there was one, from
  // how long the store takes. Nothing for the first view and for one after all were lost.
  std::optional<Pause> expected(model::Cause cause) const;

 private:
  std::optional<Time> last_completed_;
  std::optional<Time> noticed_;
  std::optional<Time> prepared_;
  std::optional<Time> handing_over_;
  std::optional<Time> entered_;
  std::optional<Duration> store_write_;
  std::optional<Pause> planned_;  // averages, the last ones count most
  std::optional<Pause> forced_;
  Duration transfer_{};
  Duration median_step_{};
  Entered facts_{};
};

}  // namespace edl::train
