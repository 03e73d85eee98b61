#include "edl/agent/launch.h"

#include <algorithm>

#include "edl/batch/lone_sample.h"
#include "edl/model/fields.h"
#include "edl/model/order.h"

namespace edl::agent {
namespace {

constexpr std::size_t kWarningsMax = 16;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::optional<std::uint64_t> steps_in_all(const model::JobSpec& spec,
                                          const model::SampleCount& samples) {
  // Under the other policies the length of an epoch in steps follows from the members.
  if (spec.batch_policy != model::BatchPolicy::kFixed || !spec.epochs) return spec.steps;
  if (!samples.is_known()) return spec.steps;
  const std::uint64_t in_epoch = divide_up(samples.known(), spec.batch);
  const std::uint64_t limit = ~std::uint64_t{0} / in_epoch;
  const std::uint64_t steps = std::min(*spec.epochs, limit) * in_epoch;
  return spec.steps ? std::min(*spec.steps, steps) : steps;
}

batch::BatchRule batch_rule(const Launch& launch) {
  const model::JobSpec& spec = launch.spec;
  return {.policy = spec.batch_policy,
          .logical_workers = launch.logical_workers,
          .batch = spec.batch,
          .batch_max = spec.batch_max,
          .micro = spec.micro_batch};
}

// A model that normalises samples by each other never sees one alone.
Result<void> check_samples(const Launch& launch) {
  const batch::EpochShape shape{.samples = launch.samples.known(),
                                .rule = batch_rule(launch),
                                .members_min = launch.range.min,
                                .members_max = launch.range.max};
  if (!batch::has_lone_sample(shape)) return {};
  // Each alone, and the other option as it is: both together always say a batch and a V.
  const std::string same_batch = text("--batch=", launch.spec.batch);
  const std::string same_v = text("--logical-workers=", launch.logical_workers);
  std::string ways;
  if (const auto other = batch::batch_without_lone_sample(shape)) {
    ways += text("--batch=", *other, " ", same_v);
  }
  if (const auto other = batch::logical_workers_without_lone_sample(shape)) {
    ways += text(ways.empty() ? "" : " or ", same_batch, " --logical-workers=", *other);
  }
  if (launch.spec.micro_batch) ways += text(ways.empty() ? "" : " or ", "another --micro-batch");
  if (ways.empty()) ways = "more samples";
  return Error{
      Code::kInvalid,
      text("an epoch of ", shape.samples, " samples in steps of ", launch.batch.global,
           " would give one of ", launch.logical_workers,
           " logical workers a single sample, which BatchNorm cannot normalise: use ", ways)};
}

Result<void> validate_lengths(const LaunchRequest& request) {
  const auto refuse = [](std::string_view option) {
    return Error{Code::kInvalid, text("--", option, "=0 trains nothing: give at least 1")};
  };
  if (request.epochs == 0u) return refuse("epochs");
  if (request.steps == 0u) return refuse("steps");
  if (request.batch == 0u) return refuse("batch");
  if (request.micro_batch == 0u) return refuse("micro-batch");
  if (request.start == 0u) return refuse("start");
  if (request.logical_workers == 0u) return refuse("logical-workers");
  return {};
}

Result<void> validate_limits(const LaunchRequest& request) {
  if (request.batch.value_or(0) > model::kSamplesMax / model::kMembersMax) {
    return Error{Code::kInvalid, text("a batch of ", *request.batch, " is above every data set")};
  }
  return {};
}

// A policy that is typed without its limit takes the program's, if that policy has one.
Result<void> take_batch(const LaunchRequest& request, const ProgramFacts& program,
                        model::JobSpec& spec) {
  const auto either = [](const auto& typed, const auto& said) { return typed ? typed : said; };
  spec.batch = either(request.batch, program.batch).value_or(spec.batch);
  spec.batch_policy =
      either(request.batch_policy, program.batch_policy).value_or(spec.batch_policy);
  spec.micro_batch = either(request.micro_batch, program.micro_batch);
  spec.lr_rule = either(request.lr_rule, program.lr_rule).value_or(spec.lr_rule);
  spec.warmup_samples =
      either(request.warmup_samples, program.warmup_samples).value_or(spec.warmup_samples);
  if (spec.lr_rule == model::RateRule::kLars && !program.lars) {
    return Error{Code::kInvalid, text("the program ", spec.program,
                                      " cannot scale the rate of each tensor: --lr-rule=lars is "
                                      "for programs on torch")};
  }
  const bool uses_max = spec.batch_policy == model::BatchPolicy::kCapped ||
                        spec.batch_policy == model::BatchPolicy::kAdaptive;
  if (request.batch_max && !uses_max) {
    return Error{Code::kInvalid,
                 text("--batch-max is for the policies capped and adaptive, and the policy is ",
                      model::name(spec.batch_policy))};
  }
  if (uses_max) spec.batch_max = either(request.batch_max, program.batch_max);
  return {};
}

// Epochs and steps go together: who gives one of them means it alone.
void take_lengths(const LaunchRequest& request, const ProgramFacts& program, model::JobSpec& spec) {
  const bool typed = request.epochs || request.steps;
  spec.epochs = typed ? request.epochs : program.epochs;
  spec.steps = typed ? request.steps : program.steps;
  if (!spec.epochs && !spec.steps) spec.epochs = 1;
}

// A stream is trained as it comes; it also ends by itself when only steps were given.
Result<void> take_stream(const ProgramFacts& program, model::JobSpec& spec) {
  if (program.samples.is_known()) return {};
  if (spec.epochs.value_or(1) > 1) {
    return Error{Code::kInvalid, text("cannot train ", *spec.epochs,
                                      " epochs of a stream: its records come once. "
                                      "Leave --epochs away, or train on known files")};
  }
  spec.epochs = 1;
  return {};
}

Result<Launch> fitted(Launch launch, std::uint32_t cores) {
  if (launch.spec.mode == model::JobMode::kStopResume) {
    launch.logical_workers = model::logical_workers(launch.spec);
    launch.spec.batch = launch.logical_workers;
  }
  EDL_TRY(model::validate(launch.spec));
  EDL_TRY(const model::FittedWorkers workers, model::worker_range(launch.spec));
  launch.range = workers.range;
  launch.note = workers.note;
  launch.wanted = launch.range.first_wanted(cores);
  launch.batch = batch::batch_of(batch_rule(launch), launch.wanted);
  return launch;
}

}  // namespace

Result<ProgramFacts> program_facts_from(const Json& json) {
  JsonReader in(json, "program");
  ProgramFacts facts;
  model::read_samples(in, facts.samples);
  in.read_optional("batch", facts.batch);
  in.read_optional("epochs", facts.epochs);
  in.read_optional("steps", facts.steps);
  in.read_optional("logical_workers", facts.logical_workers);
  in.read_optional("seed", facts.seed);
  in.read_optional("checkpoint", facts.checkpoint);
  if (in.has("workers")) {
    model::read_word(in, "workers", facts.workers.emplace(), model::parse_workers);
  }
  in.read_optional("batch_max", facts.batch_max);
  in.read_optional("micro_batch", facts.micro_batch);
  if (in.has("batch_policy")) {
    model::read_word(in, "batch_policy", facts.batch_policy.emplace(), model::parse_batch_policy);
  }
  if (in.has("lr_rule")) {
    model::read_word(in, "lr_rule", facts.lr_rule.emplace(), model::parse_rate_rule);
  }
  in.read_optional("warmup_samples", facts.warmup_samples);
  in.read_optional("takes_one_sample", facts.takes_one_sample);
  in.read_optional("lars", facts.lars);
  if (in.has("fingerprint")) {
    in.read_with("fingerprint", facts.fingerprint, model::fingerprint_from);
  }
  in.read_optional("from", facts.from);
  in.read_optional("warnings", facts.warnings);
  model::limit_list(in, "warnings", facts.warnings, kWarningsMax);
  if (in.has("memory")) {
    in.read_with("memory", facts.memory.emplace(), train::memory_facts_from);
  }
  EDL_TRY(in.finish());
  EDL_TRY(model::validate_samples(facts.samples));
  return facts;
}

void take_words(const ProgramFacts& program, LaunchRequest& request) {
  const auto take = [](auto& typed, const auto& said) {
    if (!typed) typed = said;
  };
  if (!request.epochs && !request.steps) {
    request.epochs = program.epochs;
    request.steps = program.steps;
  }
  if (!request.batch_policy) take(request.batch_max, program.batch_max);
  take(request.batch_policy, program.batch_policy);
  take(request.batch, program.batch);
  take(request.micro_batch, program.micro_batch);
  take(request.logical_workers, program.logical_workers);
  take(request.seed, program.seed);
  take(request.lr_rule, program.lr_rule);
  take(request.warmup_samples, program.warmup_samples);
}

Result<Launch> plan_launch(const LaunchRequest& request, const ProgramFacts& program,
                           std::uint32_t cores) {
  EDL_TRY(validate_lengths(request));
  EDL_TRY(validate_limits(request));
  Launch launch;
  model::JobSpec& spec = launch.spec;
  spec.name = request.name;
  spec.program = request.program;
  spec.args = request.args;
  spec.workers = request.workers ? request.workers : program.workers;
  spec.start = request.start;
  spec.logical_workers =
      request.logical_workers ? request.logical_workers : program.logical_workers;
  EDL_TRY(take_batch(request, program, spec));
  spec.seed = request.seed.value_or(program.seed.value_or(0));
  spec.checkpoint = request.checkpoint.value_or(program.checkpoint.value_or(spec.checkpoint));
  spec.init = request.init;
  spec.from = request.from;
  spec.silent_steps = request.silent_steps.value_or(spec.silent_steps);
  spec.part_limit = request.part_limit;
  spec.isa = request.isa;
  spec.python = request.python;
  take_lengths(request, program, spec);
  EDL_TRY(take_stream(program, spec));
  EDL_TRY(model::validate(spec));
  launch.logical_workers = model::logical_workers(spec);
  launch.samples = program.samples;
  launch.steps = steps_in_all(spec, program.samples);
  launch.fingerprint = program.fingerprint;
  launch.warnings = program.warnings;
  EDL_TRY(launch, fitted(std::move(launch), cores));
  if (!program.takes_one_sample && program.samples.is_known()) EDL_TRY(check_samples(launch));
  return launch;
}

Result<Launch> plan_stop_resume(const LaunchRequest& request, std::uint32_t cores) {
  EDL_TRY(validate_lengths(request));
  Launch launch;
  model::JobSpec& spec = launch.spec;
  spec.name = request.name;
  spec.program = request.program;
  spec.args = request.args;
  spec.mode = model::JobMode::kStopResume;
  spec.python = request.python;
  spec.workers = request.workers.value_or(model::WorkerRange{1, std::max(1u, cores), std::nullopt});
  spec.start = request.start;
  return fitted(std::move(launch), cores);
}

Result<Launch> with_workers(Launch launch, std::optional<model::WorkerRange> workers,
                            std::optional<std::uint32_t> start, std::uint32_t cores) {
  if (workers) {
    launch.spec.workers = workers;
    launch.spec.start = std::nullopt;
  }
  if (start) launch.spec.start = start;
  return fitted(std::move(launch), cores);
}

Result<void> take_memory(const ProgramFacts& program, std::uint32_t workers,
                         std::uint64_t available, Launch& launch) {
  if (!program.memory) return {};
  launch.memory =
      train::memory_bill(*program.memory, {.logical_workers = launch.logical_workers,
                                           .members = std::max(launch.wanted, workers),
                                           .members_max = launch.range.max,
                                           .checkpoints = launch.spec.checkpoint != "off"});
  EDL_TRY(std::string warning, train::fit_memory(*launch.memory, workers, available));
  if (!warning.empty()) launch.warnings.push_back(std::move(warning));
  return {};
}

std::string program_name(const std::string& program) {
  std::string_view word = program;
  word = word.substr(word.find_last_of("/:") + 1);
  word = word.substr(0, word.rfind('.'));
  std::string name;
  for (const char c : word) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (upper) name += static_cast<char>(c - 'A' + 'a');
    if (plain) name += c;
    if (!upper && !plain && !name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  constexpr std::size_t kRoomForNumber = 8;
  name = name.substr(0, model::kNameMax - kRoomForNumber);
  return name.empty() ? "job" : name;
}

std::string free_name(const std::string& program,
                      const std::function<bool(const std::string&)>& taken) {
  for (std::uint64_t number = 1;; ++number) {
    const std::string name = text(program_name(program), "-", number);
    if (!taken(name)) return name;
  }
}

}  // namespace edl::agent
