#include "edl/scheduler/snapshot.h"

#include <algorithm>

namespace edl::scheduler {

std::uint32_t workers_of(const Shares& shares) {
  std::uint32_t workers = 0;
  for (const Share& share : shares) workers += share.count;
  return workers;
}

std::uint64_t slots_of(const Snapshot& snapshot) {
  std::uint64_t slots = 0;
  for (const Node& node : snapshot.nodes) slots += node.slots;
  return slots;
}

bool is_running(const Job& job) { return workers_of(job.current) > 0; }

std::uint32_t wanted_workers(const Job& job, std::uint64_t slots) {
  const std::uint64_t room = slots / job.slots_per_worker;
  const std::uint64_t wanted = job.wanted == 0 ? job.max : job.wanted;
  const std::uint64_t most = std::clamp<std::uint64_t>(wanted, job.min, job.max);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(std::min(most, room), job.min));
}

std::uint32_t useful_size(std::uint32_t logical_workers, std::uint32_t workers) {
  if (logical_workers == 0 || workers == 0) return workers;
  const std::uint32_t rounds = (logical_workers + workers - 1) / workers;
  return (logical_workers + rounds - 1) / rounds;
}

}  // namespace edl::scheduler
