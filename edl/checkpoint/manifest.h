// MANIFEST.json: which files a checkpoint has, how long they are and what their hashes are. It is
// renamed into place last; a folder without a valid one is no checkpoint.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/json.h"
#include "edl/model/ids.h"
#include "edl/os/disk.h"

namespace edl::checkpoint {

inline constexpr const char* kManifestName = "MANIFEST.json";
inline constexpr const char* kModelName = "model.safetensors";
inline constexpr const char* kOptimizerName = "optimizer.safetensors";
inline constexpr const char* kStateName = "state.json";
inline constexpr const char* kUserName = "user.safetensors";
// The files that a checkpoint has besides its manifest, in this order; kUserName follows where the
// program has registered state.
inline constexpr std::array<std::string_view, 3> kFileNames{kModelName, kOptimizerName, kStateName};
inline constexpr std::uint64_t kSchema = 1;

struct ManifestFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256{};  // lower-case hex

  bool operator==(const ManifestFile&) const = default;
};

struct Manifest {
  model::Step step;
  std::vector<ManifestFile> files{};

  std::uint64_t bytes() const;  // of all files
  bool has_user_state() const { return files.size() > kFileNames.size(); }
};

void to_json(Json& json, const Manifest& manifest);
// Refuses one that does not list exactly these.
Result<Manifest> manifest_from(const Json& json);
Result<Manifest> read_manifest(os::Disk& disk, const std::string& checkpoint_path);

// DIR/checkpoints and DIR/checkpoints/STEP.
std::string checkpoints_path(const std::string& job_dir);
std::string checkpoint_path(const std::string& job_dir, model::Step step);
// The steps that folders under DIR/checkpoints are called after, ascending: complete or not.
Result<std::vector<model::Step>> list_checkpoints(os::Disk& disk, const std::string& job_dir);
// The manifest goes first, so that what a cut leaves is no checkpoint. No error when it is gone.
Result<void> remove_checkpoint(os::Disk& disk, const std::string& path);

}  // namespace edl::checkpoint
