// The time of a step by batch and placement, as in Pollux (Qiao et al., 2021): computing grows with
// the batch of a worker, talking with the number of workers, and the two overlap by some degree.
//   T_grad = a_c + b_c m;  T_sync = 0, a_r + b_r (k - 2) on one node, a_n + b_n (k - 2) on several
//   T_step = (T_grad^g + T_sync^g)^(1/g)
#pragma once

#include <cstdint>
#include <span>

namespace edl::scheduler {

struct StepTime {
  double compute_constant = 0;
  double compute_per_sample = 0;
  double several_nodes_constant = 0;
  double several_nodes_per_worker = 0;
  double one_node_constant = 0;
  double one_node_per_worker = 0;
  double overlap = 1;  // 1: none, 10: nearly all

  double compute(double local_batch) const;
  // With so many accumulated micro batches before the last one.
  double step(std::uint32_t nodes, std::uint32_t workers, double local_batch,
              std::uint32_t accumulated) const;
};

struct StepMeasurement {
  std::uint32_t nodes = 1;
  std::uint32_t workers = 1;
  double local_batch = 1;
  double compute_s = 0;  // of a micro batch without talking
  double step_s = 0;
};

// The least sum of the errors of both times' logarithms. What was never measured is taken to cost
// nothing, so that a job is tried at larger sizes; several nodes are at least 1.1 times one node.
StepTime fit_step_time(std::span<const StepMeasurement> measured);

}  // namespace edl::scheduler
