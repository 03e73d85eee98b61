// Faults by seed: a schedule of crashes, cuts, pauses and bad disks for a virtual world. All of it
// is over, and every node is up and reachable again, when its time is over.
#pragma once

#include <vector>

#include "edl/os/virtual/world.h"

namespace edl::os {

enum class Fault {
  kKill,           // a process: kill -9
  kPowerCut,       // a node; boots again
  kPause,          // a process: stopped, then continued
  kPartition,      // the nodes in two groups
  kOneWayCut,      // one node no longer reaches another
  kIsolate,        // one node reaches nobody
  kSlowLink,       // little bandwidth, more delay
  kLossyLink,      // packets get lost
  kClockJump,      // of a wall clock
  kDiskFull,       // for a while
  kDiskSyncError,  // the next sync of a node fails
};
inline constexpr int kFaultKinds = 11;

struct ChaosPlan {
  Duration length = 60s;          // faults begin and end within it
  int faults = 10;                // how many in all
  std::vector<Fault> at_least{};  // these are among them
  std::vector<Fault> never{};     // these are not
  std::vector<int> nodes{};       // that may be hit, more often if named twice; empty: all
};

// Puts the faults into the world's future. The world outlives them.
void unleash(VirtualWorld& world, const ChaosPlan& plan);

}  // namespace edl::os
