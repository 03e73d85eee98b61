// Traces out of a seed, with the shape of public ones: most jobs are small and short, a few are
// large and take days.
#pragma once

#include <cstdint>
#include <string>

namespace edl::simulator {

struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::uint64_t jobs = 100;
  double mean_gap_s = 60;  // between arrivals
  bool bursty = false;     // several come at once, then nobody for a while
};

std::string generate_trace(const GeneratorOptions& options);

}  // namespace edl::simulator
