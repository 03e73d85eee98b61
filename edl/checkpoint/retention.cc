#include "edl/checkpoint/retention.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/checkpoint/manifest.h"

namespace edl::checkpoint {
namespace {

bool has_length(os::Disk& disk, const std::string& path, std::uint64_t bytes) {
  const auto file = disk.open(path, os::Open::kRead);
  if (!file.ok()) return false;
  const auto size = (*file)->size();
  return size.ok() && *size == bytes;
}

bool is_whole(os::Disk& disk, const std::string& path) {
  const auto manifest = read_manifest(disk, path);
  if (!manifest.ok()) return false;
  return std::all_of(manifest->files.begin(), manifest->files.end(), [&](const auto& file) {
    return has_length(disk, text(path, "/", file.name), file.bytes);
  });
}

}  // namespace

std::vector<model::Step> expired(std::span<const FoundCheckpoint> found, std::size_t keep) {
  std::vector<FoundCheckpoint> newest_first(found.begin(), found.end());
  std::sort(newest_first.begin(), newest_first.end(),
            [](const auto& a, const auto& b) { return a.step > b.step; });
  std::vector<model::Step> out;
  std::size_t kept = 0;
  bool recorded_seen = false;
  for (const FoundCheckpoint& one : newest_first) {
    const bool counts = one.recorded && one.whole;
    const bool stays = !recorded_seen || (counts && kept < std::max<std::size_t>(keep, 1));
    kept += counts ? 1 : 0;
    recorded_seen = recorded_seen || one.recorded;
    if (!stays) out.push_back(one.step);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Result<std::vector<FoundCheckpoint>> find_checkpoints(os::Disk& disk, const std::string& job_dir,
                                                      std::span<const Recorded> recorded) {
  EDL_TRY(const auto steps, list_checkpoints(disk, job_dir));
  std::vector<FoundCheckpoint> found;
  for (const model::Step step : steps) {
    found.push_back({.step = step,
                     .recorded = std::any_of(recorded.begin(), recorded.end(),
                                             [&](const Recorded& one) { return one.step == step; }),
                     .whole = is_whole(disk, checkpoint_path(job_dir, step))});
  }
  return found;
}

}  // namespace edl::checkpoint
