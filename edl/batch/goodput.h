// Which batch trains most: larger ones waste less time between steps, smaller ones learn more from
// each sample. Goodput is samples a second times the efficiency of a sample, as in Pollux (Qiao et
// al., 2021). Plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace edl::batch {

// A choice is changed only for a gain of this much.
inline constexpr double kGainMin = 1.05;

// What a sample of a batch of `global` teaches, compared with one of a batch of `base`.
double efficiency(double noise_scale, std::uint64_t base, std::uint64_t global);
// The largest batch whose efficiency is not below `least`.
std::uint64_t batch_at_efficiency(double noise_scale, std::uint64_t base, double least);

// A step takes `fixed_seconds` and as much for each sample of the global batch.
struct StepTime {
  double fixed_seconds = 0;
  double seconds_per_sample = 0;
};
double goodput(const StepTime& time, double noise_scale, std::uint64_t base, std::uint64_t global);

struct BatchBounds {
  std::uint64_t least = 1;  // what the user began with; efficiency is compared with it
  std::uint64_t most = 1;
  std::uint32_t logical_workers = 1;
};
struct BatchChoice {
  std::uint64_t global = 0;
  double gain = 1;  // of goodput
  std::string reason{};
};
// Nothing when no batch within the bounds is better by kGainMin than the present one.
std::optional<BatchChoice> better_batch(const StepTime& time, double noise_scale,
                                        const BatchBounds& bounds, std::uint64_t present);

}  // namespace edl::batch
