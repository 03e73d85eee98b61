// One job alone under the autoscaler: what it tries, where it comes to rest, and what it learned.
#pragma once

#include <string>
#include <vector>

#include "edl/base/json.h"
#include "edl/scheduler/autoscaler.h"
#include "edl/simulator/trace.h"

namespace edl::simulator {

struct AloneOptions {
  scheduler::AutoscalerRules rules{};  // limits are those of the job
  std::uint32_t start = 0;             // workers at first; 0: what it wants
  std::uint32_t workers_max = 64;      // that the cluster has room for
  std::uint32_t node_slots = 4;
  double change_seconds = 30;
  double noise = 0;  // share by which a step is faster or slower
  std::uint64_t seed = 1;
};

struct AloneDecision {
  double at = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::string reason{};
};

struct AloneOutcome {
  std::vector<AloneDecision> decisions{};  // that changed its size, and the last one
  std::map<std::uint32_t, scheduler::Learned> learned{};
  double steps = 0;
  double seconds = 0;
  double worker_seconds = 0;
};

// A step is a unit of the job's speed.
Result<AloneOutcome> run_alone(const TraceJob& job, const AloneOptions& options);

std::vector<Json> alone_rows(const AloneOutcome& outcome);

}  // namespace edl::simulator
