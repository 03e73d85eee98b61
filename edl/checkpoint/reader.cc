#include "edl/checkpoint/reader.h"

#include <algorithm>
#include <map>

#include "edl/base/text.h"
#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/safetensors.h"
#include "edl/checkpoint/state_hash.h"

namespace edl::checkpoint {
namespace {

Error corrupt(const std::string& path, std::string_view why) {
  return {Code::kCorrupt, text(path, " ", why)};
}

Result<void> check_file(os::Disk& disk, const std::string& path, const ManifestFile& wanted) {
  auto file = disk.open(path, os::Open::kRead);
  if (!file.ok() && file.error().code == Code::kNotFound) return corrupt(path, "is missing");
  if (!file.ok()) return file.error();
  EDL_TRY(const std::uint64_t size, (*file)->size());
  if (size != wanted.bytes) {
    return corrupt(path, text("has ", size, " bytes instead of ", wanted.bytes));
  }
  Sha256 hash;
  EDL_TRY(read_range(**file, {0, size}, [&](ConstBytes piece) { hash.add(piece); }));
  if (hash.finish() == wanted.sha256) return {};
  return corrupt(path, "does not have the hash that its manifest says");
}

Result<State> read_state(os::Disk& disk, const std::string& path) {
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kStateBytesMax));
  const auto json = parse_json(text_of(bytes), {.bytes_max = kStateBytesMax});
  if (!json.ok()) return corrupt(path, text("cannot be read: ", json.error().message));
  const auto state = state_from(*json);
  if (!state.ok()) return corrupt(path, text("cannot be used: ", state.error().message));
  return state;
}

// Where the checkpoint's tensors are, by their names in the state.
class Contents {
 public:
  struct Found {
    os::File* file = nullptr;
    TensorPlace place{};
  };

  Result<void> open(os::Disk& disk, const Checkpoint& checkpoint) {
    const std::string& path = checkpoint.path;
    EDL_TRY(add(disk, text(path, "/", kModelName), kModelPrefix));
    EDL_TRY(add(disk, text(path, "/", kOptimizerName), kOptimizerPrefix));
    if (!checkpoint.has_user_state) return {};
    return add(disk, text(path, "/", kUserName), kUserPrefix);
  }
  const std::map<std::string, Found>& tensors() const { return tensors_; }

 private:
  Result<void> add(os::Disk& disk, const std::string& path, std::string_view prefix) {
    EDL_TRY(files_.emplace_back(), disk.open(path, os::Open::kRead));
    auto places = read_safetensors_header(*files_.back());
    if (!places.ok()) return corrupt(path, text("cannot be read: ", places.error().message));
    for (auto& [name, place] : *places) {
      tensors_[text(prefix, name)] = {files_.back().get(), std::move(place)};
    }
    return {};
  }

  std::vector<std::unique_ptr<os::File>> files_;
  std::map<std::string, Found> tensors_;
};

Result<void> check_forms(const Contents& contents, const std::string& path,
                         std::span<const TensorPlaceholder> into) {
  std::map<std::string_view, const TensorPlaceholder*> wanted;
  for (const TensorPlaceholder& tensor : into) {
    EDL_CHECK(wanted.emplace(tensor.name, &tensor).second, tensor.name);
    const auto found = contents.tensors().find(tensor.name);
    if (found == contents.tensors().end()) {
      return Error{Code::kInvalid, text("the program has a tensor ", tensor.name, ", but ", path,
                                        " has none: it is of another program")};
    }
    const TensorPlace& place = found->second.place;
    EDL_CHECK(tensor.bytes.size() == tensor_bytes(tensor.dtype, tensor.shape).value());
    if (place.dtype != tensor.dtype || place.shape != tensor.shape) {
      return Error{Code::kInvalid,
                   text("tensor ", tensor.name, " is ", form_text(tensor.dtype, tensor.shape),
                        " in the program and ", form_text(place.dtype, place.shape), " in ", path)};
    }
  }
  for (const auto& [name, found] : contents.tensors()) {
    if (wanted.contains(name)) continue;
    return Error{Code::kInvalid, text(path, " has a tensor ", name,
                                      " that the program does not have: it is of another program")};
  }
  return {};
}

Result<void> fill(const Contents::Found& found, ByteSpan into) {
  EDL_TRY(const std::size_t got, found.file->read_at(found.place.begin, into));
  if (got == into.size()) return {};
  return Error{Code::kCorrupt, "a file of the checkpoint became shorter while it was read"};
}

}  // namespace

Result<Checkpoint> open_checkpoint(os::Disk& disk, const std::string& path) {
  if (!disk.exists(text(path, "/", kManifestName))) {
    return Error{Code::kNotFound, text(path, " is no checkpoint: it has no ", kManifestName)};
  }
  EDL_TRY(const Manifest manifest, read_manifest(disk, path));
  for (const ManifestFile& file : manifest.files) {
    EDL_TRY(check_file(disk, text(path, "/", file.name), file));
  }
  EDL_TRY(State state, read_state(disk, text(path, "/", kStateName)));
  if (state.position.step != manifest.step) {
    return corrupt(path, text("is of step ", manifest.step, " by its manifest and of step ",
                              state.position.step, " by its state"));
  }
  return Checkpoint{path, manifest.bytes(), std::move(state), manifest.has_user_state()};
}

Result<void> load_checkpoint(os::Disk& disk, const Checkpoint& checkpoint,
                             std::span<const TensorPlaceholder> into) {
  Contents contents;
  EDL_TRY(contents.open(disk, checkpoint));
  EDL_TRY(check_forms(contents, checkpoint.path, into));
  for (const TensorPlaceholder& tensor : into) {
    EDL_TRY(fill(contents.tensors().at(tensor.name), tensor.bytes));
  }
  return {};
}

Result<void> load_checkpoint(os::Disk& disk, const Checkpoint& checkpoint, StateCopy& into) {
  Contents contents;
  EDL_TRY(contents.open(disk, checkpoint));
  std::vector<Tensor> tensors;
  std::vector<Bytes> blocks;
  for (const auto& [name, found] : contents.tensors()) {
    Bytes& block = blocks.emplace_back(found.place.end - found.place.begin);
    EDL_TRY(fill(found, block));
    tensors.push_back({name, found.place.dtype, found.place.shape, block});
  }
  return into.take(tensors, checkpoint.state);
}

Result<std::string> hash_of(os::Disk& disk, const Checkpoint& checkpoint) {
  Contents contents;
  EDL_TRY(contents.open(disk, checkpoint));
  StateHash hash;
  for (const auto& [name, found] : contents.tensors()) {
    if (!is_hashed(name)) continue;
    hash.begin_entry(name, found.place.dtype, found.place.shape);
    EDL_TRY(read_range(*found.file, {found.place.begin, found.place.end},
                       [&](ConstBytes piece) { hash.add(piece); }));
  }
  hash.add_position(checkpoint.state.position);
  return hash.finish();
}

Choice newest_valid(os::Disk& disk, const std::string& job_dir, std::vector<Recorded> recorded) {
  std::sort(recorded.begin(), recorded.end(), std::greater<>());
  Choice choice;
  for (const Recorded& wanted : recorded) {
    auto checkpoint = open_checkpoint(disk, checkpoint_path(job_dir, wanted.step));
    if (checkpoint.ok() && checkpoint->state.position.step != wanted.step) {
      checkpoint = corrupt(checkpoint->path, text("is of step ", checkpoint->state.position.step));
    }
    if (checkpoint.ok() && checkpoint->state.generation != wanted.generation) {
      checkpoint = Error{Code::kConflict,
                         text(checkpoint->path, " is of generation ", checkpoint->state.generation,
                              " and not of ", wanted.generation, ": the job went on without it")};
    }
    if (checkpoint.ok()) {
      choice.checkpoint = std::move(checkpoint).value();
      return choice;
    }
    choice.passed_over.push_back(checkpoint.error().message);
  }
  return choice;
}

}  // namespace edl::checkpoint
