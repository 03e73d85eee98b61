#include "edl/simulator/generator.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "edl/base/random.h"
#include "edl/base/text.h"

namespace edl::simulator {
namespace {

constexpr std::uint64_t kBurst = 8;  // jobs of one, on average

// Uniform in (0, 1].
double unit(Random& random) {
  return static_cast<double>(random.below(std::uint64_t{1} << 40) + 1) /
         static_cast<double>(std::uint64_t{1} << 40);
}

// Devices: two thirds want one, as in the jobs of Philly.
std::uint32_t wanted(Random& random) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 6> kShares = {
      {{1, 66}, {2, 10}, {4, 11}, {8, 9}, {16, 3}, {32, 1}}};
  auto left = static_cast<std::uint32_t>(random.below(100));
  for (const auto& [devices, share] : kShares) {
    if (left < share) return devices;
    left -= share;
  }
  return 1;
}

// Logarithms are normal: a median of ten minutes, one in a hundred above fourteen hours.
double seconds(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += unit(random);
  return std::clamp(std::round(600 * std::exp(1.9 * sum)), 30.0, 7 * 86400.0);
}

}  // namespace

std::string generate_trace(const GeneratorOptions& options) {
  Random random(options.seed);
  std::string out = "job,submit_s,wanted,min,max,seconds,serial_share,tenant,priority\n";
  double now = 0;
  for (std::uint64_t i = 0; i < options.jobs; ++i) {
    const bool pauses = !options.bursty || random.once_in(kBurst);
    const double mean = options.mean_gap_s * (options.bursty ? kBurst : 1);
    if (pauses) now += std::round(-mean * std::log(unit(random)));
    const std::uint32_t devices = wanted(random);
    const double serial = static_cast<double>(random.between(5, 80)) / 1000;
    out += text("job-", i, ",", now, ",", devices, ",1,", std::min(4 * devices, 64U), ",",
                seconds(random), ",", serial, ",team-", random.below(4), ",0\n");
  }
  return out;
}

}  // namespace edl::simulator
