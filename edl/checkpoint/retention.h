// Which checkpoints are deleted when a new one is recorded. A plain function.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "edl/checkpoint/recorded.h"
#include "edl/os/disk.h"

namespace edl::checkpoint {

inline constexpr std::size_t kKeptDefault = 3;

struct FoundCheckpoint {
  model::Step step;
  bool recorded = false;
  bool whole = false;  // its manifest is there and its files have the lengths that it says
};

// Ascending. The newest `keep` that are recorded and whole stay (at least one), the newest recorded
// one whatever it is like, and everything newer than that: it may just be being written.
std::vector<model::Step> expired(std::span<const FoundCheckpoint> found,
                                 std::size_t keep = kKeptDefault);

// What is on disk; hashes are not computed.
Result<std::vector<FoundCheckpoint>> find_checkpoints(os::Disk& disk, const std::string& job_dir,
                                                      std::span<const Recorded> recorded);

}  // namespace edl::checkpoint
