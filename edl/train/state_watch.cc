#include "edl/train/state_watch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "edl/collective/digest.h"

namespace edl::train {
namespace {

constexpr std::size_t kBlockBytes = 32 << 10;

std::uint64_t number_of(ConstBytes bytes) {
  const collective::BlockHash hash = collective::block_hash(bytes);
  std::uint64_t out = 0;
  std::memcpy(&out, hash.data(), sizeof out);
  return out;
}

}  // namespace

std::uint64_t StateBlocks::hash(Trainee& trainee, model::Step step) {
  if (blocks_.empty()) {
    for (const StateTensor& tensor : trainee.state()) {
      for (std::size_t at = 0; at < tensor.bytes.size(); at += kBlockBytes) {
        blocks_.emplace_back(
            tensor.bytes.subspan(at, std::min(kBlockBytes, tensor.bytes.size() - at)));
      }
    }
  }
  return blocks_.empty() ? 1 : number_of(blocks_[step.value() % blocks_.size()]);
}

void StateWatch::add(model::Step step, std::uint64_t block) {
  const bool begins = step.value() % kWindow == 1;
  is_whole_ = begins || (is_whole_ && step == sum_.step.next());
  const std::array<std::uint64_t, 2> both{begins ? 0 : sum_.digest, block};
  sum_ = {step, number_of(std::as_bytes(std::span(both)))};
  if (is_whole_ && step.value() % kWindow == 0) mark_ = sum_;
}

std::optional<membership::StateMark> StateWatch::take() { return std::exchange(mark_, {}); }

}  // namespace edl::train
