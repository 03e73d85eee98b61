#include "edl/model/job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "edl/base/time.h"
#include "edl/model/ids.h"
#include "edl/model/words.h"

namespace edl::model {
namespace {

constexpr std::array<std::string_view, 2> kModes{"elastic", "stop-resume"};
constexpr std::array<std::string_view, 2> kIsas{"native", "avx2"};

bool needs_batch_max(BatchPolicy policy) {
  return policy == BatchPolicy::kCapped || policy == BatchPolicy::kAdaptive;
}

Result<void> validate_text(std::string_view what, std::string_view value) {
  if (!value.empty() && value.size() <= kTextMax) return {};
  return Error{Code::kInvalid,
               text("the ", what, " has ", value.size(), " bytes; it must have 1 to ", kTextMax)};
}

Result<void> validate_program(const JobSpec& job) {
  EDL_TRY(validate_name("job", job.name));
  EDL_TRY(validate_name("tenant", job.tenant));
  EDL_TRY(validate_text("program", job.program));
  if (job.args.size() > kListMax) {
    return Error{Code::kInvalid,
                 text("the program has ", job.args.size(), " arguments; the limit is ", kListMax)};
  }
  for (const std::string& argument : job.args) {
    if (!argument.empty()) EDL_TRY(validate_text("argument", argument));
  }
  return {};
}

Result<void> validate_batch(const JobSpec& job) {
  if (job.mode == JobMode::kStopResume) {
    if (logical_workers(job) <= kMembersMax) return {};
    return Error{Code::kInvalid, text("a job cannot have ", logical_workers(job),
                                      " workers: the limit is ", kMembersMax)};
  }
  if (job.batch == 0) return Error{Code::kInvalid, "a batch of 0 trains nothing"};
  if (job.micro_batch == 0u) {
    return Error{Code::kInvalid, "a micro batch of 0 trains nothing: give at least 1"};
  }
  const bool needed = needs_batch_max(job.batch_policy);
  if (needed && !job.batch_max) {
    return Error{Code::kInvalid, text("batch policy ", name(job.batch_policy),
                                      " needs the largest global batch (--batch-max)")};
  }
  if (needed && *job.batch_max < job.batch) {
    return Error{Code::kInvalid, text("a batch of ", job.batch, " is above its own limit of ",
                                      *job.batch_max, " (--batch-max)")};
  }
  EDL_TRY(validate_logical_workers(logical_workers(job)));
  if (job.batch_policy == BatchPolicy::kLinear) return {};
  return validate(undivided_batch(needed ? *job.batch_max : job.batch, logical_workers(job)),
                  logical_workers(job));
}

Result<void> validate_resources(const Resources& resources) {
  if (resources.slots >= 1 && std::isfinite(resources.cpus) && resources.cpus > 0) return {};
  return Error{Code::kInvalid, text("a worker cannot run on ", resources.slots, " slots and ",
                                    resources.cpus, " cpus: both must be above 0")};
}

bool is_some_steps(std::string_view digits) {
  std::uint64_t steps = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, failed] = std::from_chars(digits.data(), end, steps);
  return failed == std::errc() && rest == end && steps >= 1 && steps <= kCheckpointStepsMax;
}

Result<void> validate_checkpoint(std::string_view rule) {
  constexpr std::string_view kSteps = "steps";
  if (rule == "auto" || rule == "off") return {};
  if (rule.ends_with(kSteps) && is_some_steps(rule.substr(0, rule.size() - kSteps.size()))) {
    return {};
  }
  const auto time = parse_duration(rule);
  if (time.ok() && *time > Duration::zero()) return {};
  return Error{Code::kInvalid, text("\"", rule.substr(0, kNameMax), "\" does not say when to ",
                                    "checkpoint: write auto, off, 100steps or 30s")};
}

Result<void> validate_part_limit(std::string_view rule) {
  if (rule == "auto" || rule == "off" || parse_duration(rule).ok()) return {};
  return Error{Code::kInvalid, text("\"", rule.substr(0, kNameMax), "\" does not say how long a ",
                                    "part may take: write auto, off or 30m")};
}

Result<void> validate_silence(std::uint32_t steps) {
  if (steps >= 1 && steps <= kSilentStepsMax) return {};
  return Error{Code::kInvalid, text("a worker cannot be left out after ", steps,
                                    " silent steps: write 1 to ", kSilentStepsMax)};
}

}  // namespace

std::string_view name(JobMode mode) { return word_of(mode, kModes); }

Result<JobMode> parse_job_mode(std::string_view word) {
  return parse_word<JobMode>("mode", word, kModes);
}

std::string_view name(Isa isa) { return word_of(isa, kIsas); }

Result<Isa> parse_isa(std::string_view word) {
  return parse_word<Isa>("instruction set", word, kIsas);
}

std::uint32_t logical_workers(const JobSpec& job) {
  if (job.mode == JobMode::kStopResume) return job.workers ? job.workers->max : 1;
  if (job.logical_workers) return *job.logical_workers;
  if (job.batch_policy == BatchPolicy::kLinear) return 16;
  return default_logical_workers(needs_batch_max(job.batch_policy) ? job.batch_max.value_or(0)
                                                                   : job.batch);
}

Result<FittedWorkers> worker_range(const JobSpec& job) {
  const std::uint32_t most = std::min<std::uint32_t>(logical_workers(job), kMembersMax);
  const WorkerRange all{.min = 1, .max = most, .start = std::nullopt};
  WorkerRange range = job.workers.value_or(all);
  if (job.start) range.start = job.start;
  const bool is_plain = job.mode == JobMode::kStopResume;
  return fit_workers(range, is_plain ? kLogicalWorkersMax : logical_workers(job));
}

Result<void> validate(const JobSpec& job) {
  EDL_TRY(validate_program(job));
  EDL_TRY(validate_batch(job));
  EDL_TRY(validate_resources(job.resources));
  EDL_TRY(validate_checkpoint(job.checkpoint));
  EDL_TRY(validate_silence(job.silent_steps));
  EDL_TRY(validate_part_limit(job.part_limit));
  EDL_TRY(worker_range(job));
  return {};
}

}  // namespace edl::model
