// What `edl run` was asked for and what the program says of itself, made into a job: every number
// that a job needs, or one sentence that says why there can be no such job. Plain functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "edl/model/job.h"

namespace edl::agent {

// What a program says of itself; the command line overrides all but `samples`.
struct ProgramFacts {
  std::uint64_t samples = 0;  // of its data set
  std::optional<std::uint64_t> batch{};
  std::optional<std::uint64_t> epochs{};
  std::optional<std::uint64_t> steps{};
  std::optional<std::uint32_t> logical_workers{};
  std::optional<std::uint64_t> seed{};
  std::optional<std::uint64_t> batch_max{};
  std::optional<model::BatchPolicy> batch_policy{};
  std::optional<model::RateRule> lr_rule{};
  std::optional<std::uint64_t> warmup_samples{};
  bool lars = false;          // it can do what the rule of that name wants
  std::string fingerprint{};  // of what its numbers depend on
};
Result<ProgramFacts> program_facts_from(const Json& json);

// What was typed.
struct LaunchRequest {
  std::string name{};
  std::string program{};
  std::vector<std::string> args{};
  std::optional<model::WorkerRange> workers{};
  std::optional<std::uint32_t> start{};
  std::optional<std::uint32_t> logical_workers{};
  std::optional<std::uint64_t> seed{};
  std::optional<std::uint64_t> epochs{};
  std::optional<std::uint64_t> steps{};
  std::optional<std::uint64_t> batch{};
  std::optional<std::uint64_t> batch_max{};
  std::optional<model::BatchPolicy> batch_policy{};
  std::optional<model::RateRule> lr_rule{};
  std::optional<std::uint64_t> warmup_samples{};
  std::string checkpoint = "auto";
  std::optional<std::uint32_t> silent_steps{};
};

struct Launch {
  model::JobSpec spec{};
  std::uint32_t logical_workers = 1;
  std::uint64_t samples = 0;
  std::optional<std::uint64_t> steps{};  // to train in all; nothing when it depends on the workers
  model::WorkerRange range{};
  std::uint32_t wanted = 1;  // at the beginning
  model::Batch batch{};      // of the first view
  std::string fingerprint{};
  std::string note{};  // a sentence when something was cut, else empty
};

Result<Launch> plan_launch(const LaunchRequest& request, const ProgramFacts& program,
                           std::uint32_t cores);

// The same job with another range of workers, as `edl resume --workers` asks for.
Result<Launch> with_workers(Launch launch, std::optional<model::WorkerRange> workers,
                            std::optional<std::uint32_t> start, std::uint32_t cores);

// "examples/My_Digits.py" -> "my-digits", "builtin:mlp" -> "mlp".
std::string program_name(const std::string& program);
// The program's name and the first number from 1 on that is free.
std::string free_name(const std::string& program,
                      const std::function<bool(const std::string&)>& taken);

}  // namespace edl::agent
