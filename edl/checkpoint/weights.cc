#include "edl/checkpoint/weights.h"

#include <algorithm>
#include <set>

#include "edl/base/text.h"
#include "edl/checkpoint/safetensors.h"

namespace edl::checkpoint {
namespace {

using Places = std::map<std::string, TensorPlace>;

struct Weights {
  std::unique_ptr<os::File> file;
  Places places{};
  std::string sha256{};
};

Result<Weights> open_weights(os::Disk& disk, const std::string& path) {
  Weights weights;
  EDL_TRY(weights.file, disk.open(path, os::Open::kRead));
  auto places = read_safetensors_header(*weights.file);
  if (!places.ok()) {
    return Error{Code::kInvalid,
                 text(path, " is no file of weights: ", places.error().message,
                      ". Write it as safetensors, with one tensor for each name of the state")};
  }
  weights.places = std::move(places).value();
  EDL_TRY(const std::uint64_t size, weights.file->size());
  Sha256 hash;
  EDL_TRY(read_range(*weights.file, {0, size}, [&](ConstBytes piece) { hash.add(piece); }));
  weights.sha256 = hash.finish();
  return weights;
}

std::string name_in_file(const TensorPlaceholder& tensor) {
  return tensor.name.substr(kModelPrefix.size());
}

Result<void> check_form(const Places& places, const std::string& path,
                        const TensorPlaceholder& tensor) {
  const std::string name = name_in_file(tensor);
  const auto found = places.find(name);
  if (found == places.end()) {
    return Error{Code::kInvalid, text("the program has a tensor ", name, ", but ", path,
                                      " has none: give a file with all of the program's weights")};
  }
  const TensorPlace& place = found->second;
  if (place.dtype == tensor.dtype && place.shape == tensor.shape) return {};
  return Error{Code::kInvalid,
               text("tensor ", name, " is ", form_text(tensor.dtype, tensor.shape),
                    " in the program and ", form_text(place.dtype, place.shape), " in ", path)};
}

}  // namespace

Result<std::string> hash_weights(os::Disk& disk, const std::string& path) {
  EDL_TRY(const Weights weights, open_weights(disk, path));
  return weights.sha256;
}

Result<void> load_weights(os::Disk& disk, const std::string& path, const std::string& sha256,
                          std::span<const TensorPlaceholder> into) {
  EDL_TRY(const Weights weights, open_weights(disk, path));
  if (weights.sha256 != sha256) {
    return Error{Code::kInvalid,
                 text(path, " has changed since the job was made: its sha256 is ", weights.sha256,
                      " and was ", sha256, ". Put the file back, or start a new job")};
  }
  std::set<std::string> known;
  for (const TensorPlaceholder& tensor : into) {
    if (!tensor.name.starts_with(kModelPrefix)) continue;
    EDL_TRY(check_form(weights.places, path, tensor));
    known.insert(name_in_file(tensor));
  }
  for (const auto& [name, place] : weights.places) {
    if (known.contains(name)) continue;
    return Error{Code::kInvalid, text(path, " has a tensor ", name,
                                      " that the program does not have: take it out of the file")};
  }
  for (const TensorPlaceholder& tensor : into) {
    if (!tensor.name.starts_with(kModelPrefix)) continue;
    const TensorPlace& place = weights.places.at(name_in_file(tensor));
    EDL_TRY(const std::size_t got, weights.file->read_at(place.begin, tensor.bytes));
    if (got == tensor.bytes.size()) continue;
    return Error{Code::kCorrupt, text(path, " became shorter while it was read")};
  }
  return {};
}

}  // namespace edl::checkpoint
