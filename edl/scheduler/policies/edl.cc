// The autoscaler of PaddlePaddle EDL on slots: whoever has its minimum runs, and all grow to equal
// fulfilment (fulfilment.h).
#include "edl/scheduler/fulfilment.h"
#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/settle.h"
#include "edl/scheduler/sizes.h"

namespace edl::scheduler {
namespace {

constexpr double kLoadMax = 1.0;

void decide(Draft& draft) {
  const Snapshot& snapshot = draft.snapshot();
  const auto slots = static_cast<std::int64_t>(slots_of(snapshot));
  ClusterLoad load{.total = {.cpu_milli = 1, .memory = 1, .gpus = slots},
                   .idle = {{.cpu_milli = 1, .memory = 1}}};
  const JobOrder in = with_minimum(snapshot, by_running(snapshot));
  std::vector<ElasticJob> jobs;
  for (const std::size_t j : in) {
    const Job& job = snapshot.jobs[j];
    const std::uint32_t has = std::max(workers_of(job.current), job.min);
    jobs.push_back({job.name, job.min, job.max, has, {.gpus = job.slots_per_worker}});
    load.used.gpus += std::int64_t{has} * job.slots_per_worker;
  }
  const std::vector<std::int64_t> differences = fulfil(jobs, load, kLoadMax);
  Sizes sizes(snapshot.jobs.size(), 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    sizes[in[i]] = static_cast<std::uint32_t>(jobs[i].current + differences[i]);
  }
  settle(draft, sizes);
  explain_sizes(draft, "equal fulfilment between minimum and maximum");
}

}  // namespace

const Policy kEdl{.name = "edl",
                  .about = "equal fulfilment between minimum and maximum (PaddlePaddle EDL)",
                  .decide = decide};

}  // namespace edl::scheduler
