// A job as it was asked for. What it is run with (the number of logical workers, the range of
// workers) follows from it by fixed rules, so that the same file means the same job everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/batch.h"
#include "edl/model/rate.h"
#include "edl/model/worker_range.h"

namespace edl::model {

inline constexpr std::uint64_t kCheckpointStepsMax = 1'000'000'000'000;  // from one to the next

// What each worker needs.
struct Resources {
  std::uint32_t slots = 1;
  double cpus = 1;
  std::uint64_t memory_bytes = 0;  // 0: not said

  bool operator==(const Resources&) const = default;
};

// Whether a program joins and leaves while it trains, or is stopped and started again on every
// change because EDL does not drive it.
enum class JobMode { kElastic, kStopResume };
std::string_view name(JobMode mode);
Result<JobMode> parse_job_mode(std::string_view word);

// A file of weights to begin with, and what it held when the job was made.
struct WeightsFile {
  std::string path;    // absolute
  std::string sha256;  // lower-case hexadecimal

  bool operator==(const WeightsFile&) const = default;
};

// Which instructions the libraries of a program may use. Under kNative, all that a machine has:
// fastest, but other machines may give other bits. Under kAvx2, these on every machine.
enum class Isa { kNative, kAvx2 };
std::string_view name(Isa isa);
Result<Isa> parse_isa(std::string_view word);

struct JobSpec {
  std::string name;
  std::string program;
  std::vector<std::string> args;
  std::optional<WorkerRange> workers;            // else 1 to the number of logical workers
  std::optional<std::uint32_t> start;            // else as `workers` says
  std::optional<std::uint32_t> logical_workers;  // else by the rule of default_logical_workers
  BatchPolicy batch_policy = BatchPolicy::kFixed;
  std::uint64_t batch = 64;                  // global, or of each member under linear and capped
  std::optional<std::uint64_t> batch_max;    // global; needed for capped and adaptive
  std::optional<std::uint64_t> micro_batch;  // samples that are computed at a time; else a part's
  RateRule lr_rule = RateRule::kNone;        // how the learning rate follows the batch
  std::uint64_t warmup_samples = 0;          // during which the learning rate grows from nearly 0
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint64_t> steps;
  Resources resources;
  std::int32_t priority = 0;  // higher goes first
  std::string tenant = "default";
  std::string checkpoint = "auto";  // auto, off, Nsteps or a duration
  std::uint32_t silent_steps = 8;   // who is silent for so many is left out
  std::string part_limit = "auto";  // auto, off or a duration: whose part takes longer hangs
  JobMode mode = JobMode::kElastic;
  std::optional<WeightsFile> init;  // else the weights are as the program makes them
  std::string from;                 // the checkpoint of another job that it began with, if any
  Isa isa = Isa::kNative;
  std::string python;  // the interpreter of a program in Python; empty: as each machine has it

  bool operator==(const JobSpec&) const = default;
};

// V: as said, else the rule for the largest batch that the policy allows; 16 under linear. Never
// taken from the workers, except in mode stop-resume: there each worker is one part of the work.
std::uint32_t logical_workers(const JobSpec& job);

// The range of workers that the job can use, with a note when it is less than what was asked for.
Result<FittedWorkers> worker_range(const JobSpec& job);

Result<void> validate(const JobSpec& job);

// Reading validates. "workers" is a number, "N" or "MIN:MAX".
void to_json(Json& json, const JobSpec& job);
Result<JobSpec> job_from(const Json& json);

}  // namespace edl::model
