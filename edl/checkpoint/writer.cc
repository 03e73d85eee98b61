#include "edl/checkpoint/writer.h"

#include "edl/base/text.h"
#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/reader.h"
#include "edl/checkpoint/safetensors.h"

namespace edl::checkpoint {
namespace {

// One attempt; its steps in the order in which they must reach the disk.
class Attempt {
 public:
  Attempt(os::Disk& disk, const StateCopy& copy, const WriteOptions& options)
      : disk_(disk),
        copy_(copy),
        options_(options),
        step_(copy.state().position.step),
        path_(checkpoint_path(options.job_dir, step_)) {}

  Result<Written> run() {
    manifest_.step = step_;
    enter(Phase::kWrite);
    EDL_TRY(check_room());
    EDL_TRY(clear());
    EDL_TRY(write_tensors(kModelName, copy_.without_prefix(kModelPrefix)));
    EDL_TRY(write_tensors(kOptimizerName, copy_.without_prefix(kOptimizerPrefix)));
    EDL_TRY(write_bytes(kStateName, json_line(Json(copy_.state())) + "\n"));
    const std::vector<Tensor> user = copy_.without_prefix(kUserPrefix);
    if (!user.empty()) EDL_TRY(write_tensors(kUserName, user));
    enter(Phase::kSync);
    EDL_TRY(sync());
    EDL_TRY(publish());
    return Written{.step = step_,
                   .generation = copy_.state().generation,
                   .path = path_,
                   .bytes = manifest_.bytes()};
  }

  const std::string& path() const { return path_; }

 private:
  void enter(Phase phase) const {
    if (options_.on_phase) options_.on_phase(phase);
  }

  // The disk may also hold the store's data: better no checkpoint than none of either.
  Result<void> check_room() {
    EDL_TRY(disk_.make_directory(path_));
    std::uint64_t needed = 0;
    for (const Tensor& tensor : copy_.tensors()) needed += tensor.bytes.size();
    EDL_TRY(const std::uint64_t room, disk_.free_bytes(path_));
    if (needed <= room) return {};
    return Error{Code::kExhausted,
                 text("it needs ", needed, " bytes and the disk has room for ", room)};
  }

  // An old manifest must be gone for good before the first byte of another state is written.
  Result<void> clear() {
    const std::string manifest = text(path_, "/", kManifestName);
    if (!disk_.exists(manifest)) return {};
    EDL_TRY(disk_.remove(manifest));
    return disk_.sync_directory(path_);
  }

  Result<void> write_tensors(const char* name, const std::vector<Tensor>& tensors) {
    EDL_TRY(files_.emplace_back(), disk_.open(text(path_, "/", name), os::Open::kWrite));
    HashedWriter out(*files_.back());
    EDL_TRY(write_safetensors(out, tensors));
    manifest_.files.push_back({name, out.bytes(), out.sha256()});
    return {};
  }

  Result<void> write_bytes(const char* name, std::string_view content) {
    if (content.size() > kStateBytesMax) {
      return Error{Code::kExhausted, text("its ", name, " has ", content.size(),
                                          " bytes; the limit is ", kStateBytesMax)};
    }
    EDL_TRY(files_.emplace_back(), disk_.open(text(path_, "/", name), os::Open::kWrite));
    HashedWriter out(*files_.back());
    EDL_TRY(out.add(bytes_of(content)));
    EDL_TRY(out.finish());
    manifest_.files.push_back({name, out.bytes(), out.sha256()});
    return {};
  }

  // Contents first, then the names of all folders on the way.
  Result<void> sync() {
    for (const auto& file : files_) EDL_TRY(file->sync());
    files_.clear();
    EDL_TRY(disk_.sync_directory(path_));
    EDL_TRY(disk_.sync_directory(checkpoints_path(options_.job_dir)));
    return disk_.sync_directory(options_.job_dir);
  }

  Result<void> publish() {
    const std::string beside = text(path_, "/", kManifestName, ".new");
    {
      EDL_TRY(const auto file, disk_.open(beside, os::Open::kWrite));
      HashedWriter out(*file);
      EDL_TRY(out.add(bytes_of(json_line(Json(manifest_)) + "\n")));
      EDL_TRY(out.finish());
      EDL_TRY(file->sync());
    }
    enter(Phase::kRename);
    EDL_TRY(disk_.rename(beside, text(path_, "/", kManifestName)));
    return disk_.sync_directory(path_);
  }

  os::Disk& disk_;
  const StateCopy& copy_;
  const WriteOptions& options_;
  const model::Step step_;
  const std::string path_;
  std::vector<std::unique_ptr<os::File>> files_;
  Manifest manifest_;
};

// The newest recorded checkpoint must never be in danger only because a job that was resumed from
// it is stopped before its next step. One of a history that was lost may have the same numbers and
// is not the same: others trained it.
std::optional<Written> find_same(os::Disk& disk, const std::string& path, const StateCopy& copy,
                                 const std::string& hash) {
  if (!disk.exists(text(path, "/", kManifestName))) return std::nullopt;
  const auto there = open_checkpoint(disk, path);
  if (!there.ok() || there->state.trained_by != copy.state().trained_by) return std::nullopt;
  const auto its_hash = hash_of(disk, *there);
  if (!its_hash.ok() || *its_hash != hash) return std::nullopt;
  return Written{.step = there->state.position.step,
                 .generation = there->state.generation,
                 .path = path,
                 .bytes = there->bytes};
}

}  // namespace

std::string_view name(Phase phase) {
  constexpr std::string_view kNames[] = {"checkpoint_write", "checkpoint_sync",
                                         "checkpoint_rename"};
  return kNames[static_cast<std::size_t>(phase)];
}

Result<Written> write_checkpoint(os::Disk& disk, const StateCopy& copy,
                                 const WriteOptions& options) {
  EDL_CHECK(options.now != nullptr);
  const Time begin = options.now();
  const std::string hash = copy.hash();
  Attempt attempt(disk, copy, options);
  auto same = find_same(disk, attempt.path(), copy, hash);
  auto written = same ? Result<Written>(std::move(*same)) : attempt.run();
  if (!written.ok()) {
    // Gives its room back, if that is possible.
    if (!disk.exists(text(attempt.path(), "/", kManifestName))) {
      (void)remove_checkpoint(disk, attempt.path());
    }
    return Error{written.error().code, text("cannot write the checkpoint ", attempt.path(), ": ",
                                            written.error().message)};
  }
  written->state_hash = hash;
  written->took = options.now() - begin;
  return written;
}

Result<void> write_final_model(os::Disk& disk, const StateCopy& copy, const std::string& job_dir) {
  const std::string path = text(job_dir, "/", kModelName);
  const std::string beside = path + ".new";
  {
    EDL_TRY(const auto file, disk.open(beside, os::Open::kWrite));
    HashedWriter out(*file);
    EDL_TRY(write_safetensors(out, copy.without_prefix(kModelPrefix)));
    EDL_TRY(file->sync());
  }
  EDL_TRY(disk.rename(beside, path));
  return disk.sync_directory(job_dir);
}

}  // namespace edl::checkpoint
