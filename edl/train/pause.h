// How long a change of the view kept this member from training, and what the time went into. Plain
// state: times in, the fields of the second `view` event out.
#pragma once

#include <optional>

#include "edl/base/json.h"
#include "edl/base/time.h"

namespace edl::train {

class PauseClock {
 public:
  // Something is wrong, or is asked for; the first time counts.
  void noticed(Time now);
  void prepared(Time now);      // we promise
  void handing_over(Time now);  // we wait for a record
  void entered(Time now, std::uint32_t parts_redone, std::uint64_t steps_lost);
  // Answers what the view cost, at the first step that is completed in it.
  std::optional<Json> completed(Time now, Duration median_step);

 private:
  std::optional<Time> last_completed_;
  std::optional<Time> noticed_;
  std::optional<Time> prepared_;
  std::optional<Time> handing_over_;
  std::optional<Time> entered_;
  Duration transfer_{};
  std::uint32_t parts_redone_ = 0;
  std::uint64_t steps_lost_ = 0;
};

}  // namespace edl::train
