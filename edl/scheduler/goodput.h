// The batch that trains most at a size, and how much that is: samples a second times what a sample
// teaches, as in Pollux.
#pragma once

#include <cstdint>

#include "edl/scheduler/step_time.h"

namespace edl::scheduler {

struct BatchLimits {
  std::uint32_t initial = 1;  // of the whole job; what a sample teaches is compared with it
  std::uint32_t most = 1;     // of the whole job
  std::uint32_t local_least = 1;
  std::uint32_t local_most = 1;  // that fits a worker; more is accumulated
};

// Squared norm of the gradient and its variance, both for the initial batch.
struct Gradient {
  double square = 1;
  double variance = 0;
};

// How many steps of the initial batch one of `batch` is worth.
double gain_of(const Gradient& gradient, double batch, double initial);

struct BatchSplit {
  std::uint32_t local = 0;        // of a micro batch of a worker
  std::uint32_t accumulated = 0;  // micro batches before the last one
  double goodput = 0;             // initial batches' worth a second
};

// The best of fifty batches, geometrically apart.
BatchSplit best_batch(const StepTime& time, const Gradient& gradient, const BatchLimits& limits,
                      std::uint32_t nodes, std::uint32_t workers);

// How a given batch of the whole job is split.
BatchSplit split_batch(std::uint32_t batch, const BatchLimits& limits, std::uint32_t workers);

}  // namespace edl::scheduler
