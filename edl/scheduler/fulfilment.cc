#include "edl/scheduler/fulfilment.h"

#include <algorithm>
#include <tuple>

namespace edl::scheduler {
namespace {

std::int64_t planned(const ElasticJob& job, std::int64_t difference) {
  return std::int64_t{job.current} + difference;
}

void add(Resources& to, const Resources& what, std::int64_t times) {
  to.cpu_milli += times * what.cpu_milli;
  to.memory += times * what.memory;
  to.gpus += times * what.gpus;
}

bool above(std::int64_t used, std::int64_t total, double load_max) {
  return static_cast<double>(used) > static_cast<double>(total) * load_max;
}

// What calls for a step down: more than the limit of what the job uses.
bool overloaded(const ElasticJob& job, const ClusterLoad& load, double load_max) {
  if (above(load.used.cpu_milli, load.total.cpu_milli, load_max)) return true;
  return job.request.gpus > 0 && above(load.used.gpus, load.total.gpus, load_max);
}

Resources* node_for(const ElasticJob& job, ClusterLoad& load) {
  for (Resources& idle : load.idle) {
    if (idle.cpu_milli >= job.request.cpu_milli && idle.memory >= job.request.memory) return &idle;
  }
  return nullptr;
}

}  // namespace

double fulfilment(const ElasticJob& job, std::int64_t difference) {
  if (job.min == job.max) return 1;
  return static_cast<double>(planned(job, difference) - job.min) /
         static_cast<double>(job.max - job.min);
}

std::vector<std::size_t> by_fulfilment(const std::vector<ElasticJob>& jobs,
                                       const std::vector<std::int64_t>& differences) {
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].min < jobs[j].max) order.push_back(j);
  }
  const auto key = [&](std::size_t j) {
    return std::tuple(fulfilment(jobs[j], differences[j]), jobs[j].request.gpus,
                      jobs[j].request.cpu_milli, jobs[j].request.memory);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

int step_up(const ElasticJob& job, std::int64_t difference, ClusterLoad& load, double load_max) {
  if (planned(job, difference) >= job.max) return 0;
  if (load.total.memory - load.used.memory <= job.request.memory) return 0;
  Resources* const node = node_for(job, load);
  if (node == nullptr) return 0;
  if (load.used.gpus + job.request.gpus > load.total.gpus) return 0;
  ClusterLoad after = load;
  add(after.used, job.request, 1);
  if (overloaded(job, after, load_max)) return 0;
  add(load.used, job.request, 1);
  node->cpu_milli -= job.request.cpu_milli;
  node->memory -= job.request.memory;
  return 1;
}

int step_down(const ElasticJob& job, std::int64_t difference, ClusterLoad& load, double load_max) {
  const std::int64_t now = planned(job, difference);
  const bool too_many = now > job.max;
  if (!too_many && !(overloaded(job, load, load_max) && now > job.min)) return 0;
  add(load.used, job.request, -1);
  if (!load.idle.empty()) {
    load.idle.front().cpu_milli += job.request.cpu_milli;
    load.idle.front().memory += job.request.memory;
  }
  return -1;
}

std::vector<std::int64_t> fulfil(const std::vector<ElasticJob>& jobs, ClusterLoad load,
                                 double load_max) {
  std::vector<std::int64_t> differences(jobs.size(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t j : by_fulfilment(jobs, differences)) {
      const int step = step_up(jobs[j], differences[j], load, load_max);
      differences[j] += step;
      changed = changed || step != 0;
    }
    std::vector<std::size_t> order = by_fulfilment(jobs, differences);
    std::reverse(order.begin(), order.end());
    for (const std::size_t j : order) {
      const int step = step_down(jobs[j], differences[j], load, load_max);
      differences[j] += step;
      changed = changed || step != 0;
    }
  }
  return differences;
}

}  // namespace edl::scheduler
