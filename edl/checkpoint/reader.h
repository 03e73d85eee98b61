// Reads checkpoints. What is opened was found whole: manifest, lengths and hashes are right.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edl/checkpoint/recorded.h"
#include "edl/checkpoint/state.h"
#include "edl/checkpoint/state_copy.h"
#include "edl/os/disk.h"

namespace edl::checkpoint {

// A checkpoint that was whole when it was opened.
struct Checkpoint {
  std::string path;
  std::uint64_t bytes = 0;  // of its files, without the manifest
  State state{};
  bool has_user_state = false;
};

// kNotFound when there is no manifest, kCorrupt with a sentence when something is not as it says.
Result<Checkpoint> open_checkpoint(os::Disk& disk, const std::string& path);

// A tensor to be filled. It borrows its place.
struct TensorPlaceholder {
  std::string name;  // `model/NAME` or `optimizer/NAME/KEY`
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape{};
  ByteSpan bytes{};
};

// Names, types and shapes must be exactly those of the checkpoint; nothing is filled when they are
// not. kInvalid with a sentence that names the first difference.
Result<void> load_checkpoint(os::Disk& disk, const Checkpoint& checkpoint,
                             std::span<const TensorPlaceholder> into);
// All of it, without knowing what it holds.
Result<void> load_checkpoint(os::Disk& disk, const Checkpoint& checkpoint, StateCopy& into);

// The state's hash, read piece by piece.
Result<std::string> hash_of(os::Disk& disk, const Checkpoint& checkpoint);

// What to go on from, and why.
struct Choice {
  std::optional<Checkpoint> checkpoint{};  // nothing: begin at step 0
  std::vector<std::string> passed_over{};  // a sentence for each newer one that is not whole
};

// The newest whole one of those that were recorded, in any order.
Choice newest_valid(os::Disk& disk, const std::string& job_dir, std::vector<Recorded> recorded);

}  // namespace edl::checkpoint
