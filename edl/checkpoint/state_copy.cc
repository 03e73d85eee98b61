#include "edl/checkpoint/state_copy.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/checkpoint/state_hash.h"

namespace edl::checkpoint {
namespace {

constexpr std::uint64_t kAlignment = 64;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Result<void> StateCopy::check(std::span<const Tensor> tensors) const {
  for (const Tensor& tensor : tensors) {
    EDL_TRY(validate(tensor));
    if (!tensor.name.starts_with(kModelPrefix) && !tensor.name.starts_with(kOptimizerPrefix) &&
        !tensor.name.starts_with(kUserPrefix)) {
      return Error{Code::kInvalid, text("tensor ", tensor.name, " belongs neither to the model ",
                                        "nor to the optimizer nor to the user")};
    }
  }
  return {};
}

void StateCopy::make_room(std::span<const Tensor> tensors) {
  std::uint64_t needed = 0;
  for (const Tensor& tensor : tensors) needed += aligned(tensor.bytes.size());
  if (block_.size() >= needed) return;
  tensors_.clear();
  block_ = Bytes(needed);
}

Result<void> StateCopy::take(std::span<const Tensor> tensors, State state) {
  tensors_.clear();
  EDL_TRY(check(tensors));
  make_room(tensors);
  std::uint64_t at = 0;
  std::vector<Tensor> copies(tensors.begin(), tensors.end());
  for (Tensor& copy : copies) {
    const ByteSpan place = ByteSpan(block_).subspan(at, copy.bytes.size());
    std::copy(copy.bytes.begin(), copy.bytes.end(), place.begin());
    copy.bytes = place;
    at += aligned(place.size());
  }
  std::sort(copies.begin(), copies.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < copies.size(); ++i) {
    if (copies[i].name != copies[i - 1].name) continue;
    return Error{Code::kInvalid, text("tensor ", copies[i].name, " comes twice")};
  }
  tensors_ = std::move(copies);
  state_ = std::move(state);
  return {};
}

std::vector<Tensor> StateCopy::without_prefix(std::string_view prefix) const {
  std::vector<Tensor> chosen;
  for (const Tensor& tensor : tensors_) {
    if (!tensor.name.starts_with(prefix)) continue;
    chosen.push_back(tensor);
    chosen.back().name.erase(0, prefix.size());
  }
  return chosen;
}

std::string StateCopy::hash() const {
  StateHash hash;
  for (const Tensor& tensor : tensors_) {
    if (!is_hashed(tensor.name)) continue;
    hash.begin_entry(tensor.name, tensor.dtype, tensor.shape);
    hash.add(tensor.bytes);
  }
  hash.add_position(state_.position);
  return hash.finish();
}

}  // namespace edl::checkpoint
