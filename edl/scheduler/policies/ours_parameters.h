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
  double young_s = 600;        // since it came: what is younger tells nothing of its length
  double long_s = 57600;       // slot seconds that only a long job has had, as in Tiresias
  double level_growth = 16;    // from there to the service at which it may end, and so on
  double certainty = 1.5;      // of a guessed order: 0 has none, much above 1 takes it as known
  std::uint32_t growth = 4;    // times the largest size tried
};

inline constexpr OursParameters kParameters{};

}  // namespace edl::scheduler
