// A job as it was asked for. What it is run with (the number of logical workers, the range of
// workers) follows from it by fixed rules, so that the same file means the same job everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/batch.h"
#include "edl/model/rate.h"
#include "edl/model/worker_range.h"

namespace edl::model {

// What each worker needs.
struct Resources {
  std::uint32_t slots = 1;
  double cpus = 1;
  std::uint64_t memory_bytes = 0;  // 0: not said

  bool operator==(const Resources&) const = default;
};

struct JobSpec {
  std::string name;
  std::string program;
  std::vector<std::string> args;
  std::optional<WorkerRange> workers;            // else 1 to the number of logical workers
  std::optional<std::uint32_t> start;            // else as `workers` says
  std::optional<std::uint32_t> logical_workers;  // else by the rule of default_logical_workers
  BatchPolicy batch_policy = BatchPolicy::kFixed;
  std::uint64_t batch = 64;                // global, or of each member under linear and capped
  std::optional<std::uint64_t> batch_max;  // global; needed for capped and adaptive
  RateRule lr_rule = RateRule::kNone;      // how the learning rate follows the batch
  std::uint64_t warmup_samples = 0;        // during which the learning rate grows from nearly 0
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint64_t> steps;
  Resources resources;
  std::int32_t priority = 0;  // higher goes first
  std::string tenant = "default";
  std::string checkpoint = "auto";  // auto, off, Nsteps or a duration
  std::uint32_t silent_steps = 8;   // who is silent for so many is left out

  bool operator==(const JobSpec&) const = default;
};

// V: as said, else the rule for the largest batch that the policy allows; 16 under linear. Never
// taken from the workers.
std::uint32_t logical_workers(const JobSpec& job);

// The range of workers that the job can use, with a note when it is less than what was asked for.
Result<FittedWorkers> worker_range(const JobSpec& job);

Result<void> validate(const JobSpec& job);

// Reading validates. "workers" is a number, "N" or "MIN:MAX".
void to_json(Json& json, const JobSpec& job);
Result<JobSpec> job_from(const Json& json);

}  // namespace edl::model
