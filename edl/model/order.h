// The order of samples: which sample a position of an epoch trains. A pure function of the number
// of samples, the seed and the epoch (docs/reference/data-order.md); nothing is shuffled in memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "edl/base/result.h"
#include "edl/model/ids.h"
#include "edl/model/position.h"
#include "edl/model/sample_count.h"

namespace edl::model {

class SampleOrder {
 public:
  // 1 <= samples <= kSamplesMax; see validate_samples for numbers from outside.
  SampleOrder(std::uint64_t samples, std::uint64_t seed, Epoch epoch);

  // The sample at `position` < samples().
  std::uint64_t at(std::uint64_t position) const;

  std::uint64_t samples() const { return samples_; }

 private:
  static constexpr int kRounds = 6;

  std::uint64_t samples_;
  int half_bits_;
  std::uint64_t half_mask_;
  std::array<std::uint64_t, kRounds> keys_{};
};

Result<void> validate_samples(std::uint64_t samples);

// The samples that these positions train; those of a stream in its own order.
std::vector<std::uint64_t> sample_indices(const PositionRange& positions,
                                          const SampleCount& samples, std::uint64_t seed,
                                          Epoch epoch);

}  // namespace edl::model
