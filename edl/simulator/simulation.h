// A cluster in virtual time: jobs of a trace come, a policy decides, jobs compute until they end.
// Decisions fall on a grid of seconds, or on every event. Pure: the same trace, options and seed
// give the same outcome; only the time that plans took is measured from outside.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "edl/scheduler/policy.h"
#include "edl/simulator/trace.h"

namespace edl::simulator {

// From then on the node has so many slots for jobs.
struct CapacityChange {
  double at = 0;
  std::uint32_t node = 0;
  std::uint32_t slots = 0;
};

struct SimulationOptions {
  std::vector<scheduler::Node> nodes{};
  std::vector<scheduler::Tenant> tenants{};
  std::vector<CapacityChange> capacity{};  // by time
  double interval = 60;                    // 0: at every event
  double change_seconds = 30;
  double freeze_seconds = 0;  // after a change
  double noise = 0;           // share by which a placement is faster or slower than measured
  std::uint64_t seed = 1;
  bool declared = false;
  bool rules = false;
  bool adapts_batch = false;
  bool keep_timeline = false;
  std::function<double()> clock{};               // seconds; what plans are timed with
  std::function<void(double share)> progress{};  // of jobs that ended
};

struct JobOutcome {
  std::string name{};
  double submitted = 0;
  double started = -1;
  double finished = -1;
  std::uint32_t changes = 0;
  double fair_ratio = 0;  // its time by the time that an equal share alone would take
  std::vector<std::pair<double, std::uint32_t>> sizes{};  // when it got how many workers
};

struct Moment {
  double at = 0;
  std::uint64_t slots = 0;
  std::uint64_t used = 0;
  std::uint32_t waiting = 0;
  std::uint32_t running = 0;
};

struct Outcome {
  std::vector<JobOutcome> jobs{};
  double queue_seconds = 0;  // waiting jobs, over time
  double used_slot_seconds = 0;
  double slot_seconds = 0;
  double ended = 0;
  std::vector<double> plan_seconds{};
  std::vector<Moment> timeline{};
};

Result<Outcome> simulate(const Trace& trace, const scheduler::Policy& policy,
                         const SimulationOptions& options);

}  // namespace edl::simulator
