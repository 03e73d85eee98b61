// Writes a checkpoint so that it is whole or does not count: the files are written and synced, then
// the manifest is written beside, synced and renamed into place. Blocks; runs on a thread of its
// own while training goes on.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "edl/base/time.h"
#include "edl/checkpoint/state_copy.h"
#include "edl/os/disk.h"

namespace edl::checkpoint {

// What is about to be done; where faults can be put.
enum class Phase { kWrite, kSync, kRename };
// "checkpoint_write", "checkpoint_sync", "checkpoint_rename".
std::string_view name(Phase phase);

struct WriteOptions {
  std::string job_dir;
  std::function<Time()> now{};
  std::function<void(Phase)> on_phase{};  // may be empty
};

struct Written {
  model::Step step;
  model::Generation generation;
  std::string path{};
  std::uint64_t bytes = 0;
  std::string state_hash{};
  Duration took{};
};

// DIR/checkpoints/STEP. What a cut left there is overwritten; a whole checkpoint of the same state
// is left as it is. After an error nothing of it stays, and the other checkpoints are as they were.
Result<Written> write_checkpoint(os::Disk& disk, const StateCopy& copy,
                                 const WriteOptions& options);

// DIR/model.safetensors: the final model, or what was there before.
Result<void> write_final_model(os::Disk& disk, const StateCopy& copy, const std::string& job_dir);

}  // namespace edl::checkpoint
