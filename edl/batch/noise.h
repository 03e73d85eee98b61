// The noise scale of the gradients: about how many samples a batch needs before more of them say
// the same again. Measured from the squared norms of a step's parts and of their sum, as McCandlish
// et al. do (An Empirical Model of Large-Batch Training, 2018).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace edl::batch {

// Squared norm of the gradient of one part: of the mean over its own samples.
struct PartNorm {
  std::uint64_t samples = 0;
  double squared_norm = 0;
};

// Both are means over a few dozen measurements: one step alone says little.
class NoiseScale {
 public:
  static constexpr std::uint64_t kMeasuredMin = 8;

  // `whole` is that of the mean over all samples. Steps that say nothing are passed over: one part,
  // or a number that is not finite.
  void measure(std::span<const PartNorm> parts, double whole);

  std::uint64_t measured() const { return measured_; }
  // In samples; nothing while too little was measured or the gradient is lost in its noise.
  std::optional<double> samples() const;

 private:
  std::uint64_t measured_ = 0;
  double signal_ = 0;    // squared norm of the true gradient
  double variance_ = 0;  // trace of the covariance of one sample's gradient
};

}  // namespace edl::batch
