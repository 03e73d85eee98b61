// The one set of numbers of EDL's own policy.
#pragma once

#include <cstdint>

namespace edl::scheduler {

struct OursParameters {
  double power = 0.8;          // of the speed-up: below 1 it shares more evenly
  double horizon_s = 250;      // that a change must pay for itself in
  double horizon_changes = 5;  // or so many times its cost
  double horizon_share = 0.3;  // or so much of the mean time between its changes
  double idle_changes = 2;     // that the slots of a job stand still for, at its start and end
  double deadline_slack = 2;   // times the time at the minimum: what is nearer presses
  double level_s = 3600;       // slot seconds after which a job that told nothing is no short one
  double level_growth = 16;    // from level to level; the second is that of Tiresias
  std::uint32_t growth = 4;    // times the largest size tried
};

inline constexpr OursParameters kParameters{};

}  // namespace edl::scheduler
