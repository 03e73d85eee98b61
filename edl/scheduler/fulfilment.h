// The autoscaler of PaddlePaddle EDL: jobs between their minimum and maximum are brought to equal
// fulfilment, (current - min) / (max - min), by a dry run of single steps up and down until nothing
// changes. Unlike its origin it never takes a step up that would call for a step down at once, so a
// job at the limit does not flip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edl::scheduler {

struct Resources {
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
  std::int64_t gpus = 0;
};

// What a cluster has in all, what is asked of it, and what is idle on each node.
struct ClusterLoad {
  Resources total{};
  Resources used{};
  std::vector<Resources> idle{};  // GPUs are counted for the cluster as a whole
};

struct ElasticJob {
  std::string name{};
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::uint32_t current = 1;
  Resources request{.cpu_milli = 1000};  // of one worker
};

// 1 when min = max.
double fulfilment(const ElasticJob& job, std::int64_t difference = 0);
// Places of the elastic jobs (min < max), least fulfilment first; of equals the smaller request of
// GPUs, then of CPUs, then of memory.
std::vector<std::size_t> by_fulfilment(const std::vector<ElasticJob>& jobs,
                                       const std::vector<std::int64_t>& differences);

// What one step would change the job by, beside a planned difference: +1 or 0. Takes it from
// `load`.
int step_up(const ElasticJob& job, std::int64_t difference, ClusterLoad& load, double load_max);
// -1 or 0. Gives it back to `load`.
int step_down(const ElasticJob& job, std::int64_t difference, ClusterLoad& load, double load_max);

// How many workers more or fewer each job gets.
std::vector<std::int64_t> fulfil(const std::vector<ElasticJob>& jobs, ClusterLoad load,
                                 double load_max);

}  // namespace edl::scheduler
