#include "edl/model/order.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "edl/base/random.h"
#include "edl/base/text.h"

namespace edl::model {

// A Feistel network permutes the numbers of an even count of bits, the fewest that hold all
// samples.
SampleOrder::SampleOrder(std::uint64_t samples, std::uint64_t seed, Epoch epoch)
    : samples_(samples) {
  EDL_CHECK(samples >= 1 && samples <= kSamplesMax);
  half_bits_ = (std::max(2, static_cast<int>(std::bit_width(samples - 1))) + 1) / 2;
  half_mask_ = (std::uint64_t{1} << half_bits_) - 1;
  for (int round = 0; round < kRounds; ++round) {
    keys_[round] = mix64(seed ^ mix64(8 * epoch.value() + static_cast<std::uint64_t>(round)));
  }
}

// Numbers that are no sample are permuted again until one is: it stays a permutation, and since
// there are at most four times as many numbers as samples, it soon ends.
std::uint64_t SampleOrder::at(std::uint64_t position) const {
  EDL_CHECK(position < samples_);
  std::uint64_t number = position;
  do {
    std::uint64_t left = number >> half_bits_;
    std::uint64_t right = number & half_mask_;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t mixed = left ^ (mix64(right ^ key) & half_mask_);
      left = right;
      right = mixed;
    }
    number = left << half_bits_ | right;
  } while (number >= samples_);
  return number;
}

std::vector<std::uint64_t> sample_indices(const PositionRange& positions,
                                          const SampleCount& samples, std::uint64_t seed,
                                          Epoch epoch) {
  std::vector<std::uint64_t> indices(positions.size());
  std::iota(indices.begin(), indices.end(), positions.from);
  if (!samples.is_known()) return indices;
  const SampleOrder order(samples.known(), seed, epoch);
  for (std::uint64_t& index : indices) index = order.at(index);
  return indices;
}

Result<void> validate_samples(std::uint64_t samples) {
  if (samples >= 1 && samples <= kSamplesMax) return {};
  return Error{Code::kInvalid,
               text("a data set cannot have ", samples, " samples: use 1 to ", kSamplesMax)};
}

}  // namespace edl::model
