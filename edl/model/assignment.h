// Which member carries which logical workers. Only speed depends on it, never the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edl/model/ids.h"

namespace edl::model {

// A member as the assignment sees it.
struct Carrier {
  double speed = 1;                    // relative to the others, above 0
  std::vector<LogicalWorker> carried;  // in the view before; empty for a joiner
};

struct Assignment {
  std::vector<std::vector<LogicalWorker>> logical;  // of each rank, ascending
  std::uint32_t pieces = 0;  // partial sums that members make alone, and so have to send
  std::uint32_t moves = 0;   // logical workers whose carrier is still here but is another now
  bool proven = false;       // that `moves` is the least; `pieces` always is
};

// Carries each of V = `logical_workers` exactly once by `members`, given in rank order. The best
// assignment has the least compute time (the largest load divided by speed), among these the
// fewest pieces, among these the fewest moves. The same arguments give the same answer everywhere.
Assignment assign(std::uint32_t logical_workers, std::span<const Carrier> members);

}  // namespace edl::model
