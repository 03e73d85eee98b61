// What `edl run` was asked for and what the program says of itself, made into a job: every number
// that a job needs, or one sentence that says why there can be no such job. Plain functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "edl/model/fingerprint.h"
#include "edl/model/job.h"
#include "edl/model/sample_count.h"
#include "edl/train/memory_bill.h"

namespace edl::agent {

// What a program says of itself; the command line overrides all but `samples`.
struct ProgramFacts {
  model::SampleCount samples = 0;  // of its data set
  std::optional<std::uint64_t> batch{};
  std::optional<std::uint64_t> epochs{};
  std::optional<std::uint64_t> steps{};
  std::optional<std::uint32_t> logical_workers{};
  std::optional<std::uint64_t> seed{};
  std::optional<model::WorkerRange> workers{};
  std::optional<std::string> checkpoint{};  // when to write one
  std::optional<std::uint64_t> batch_max{};
  std::optional<std::uint64_t> micro_batch{};
  std::optional<model::BatchPolicy> batch_policy{};
  std::optional<model::RateRule> lr_rule{};
  std::optional<std::uint64_t> warmup_samples{};
  bool takes_one_sample = true;      // at a time
  bool lars = false;                 // it can do what the rule of that name wants
  model::Fingerprint fingerprint{};  // of what its numbers depend on
  std::vector<std::string> warnings{};
  std::optional<train::MemoryFacts> memory{};
  std::string from{};  // a checkpoint that it loads, to go on from; empty: none
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
  std::optional<std::uint64_t> micro_batch{};
  std::optional<model::BatchPolicy> batch_policy{};
  std::optional<model::RateRule> lr_rule{};
  std::optional<std::uint64_t> warmup_samples{};
  std::optional<std::string> checkpoint{};
  std::optional<std::uint32_t> silent_steps{};
  std::string part_limit = "auto";
  std::optional<model::WeightsFile> init{};
  std::string from{};  // a checkpoint of another job; empty: none
  model::Isa isa = model::Isa::kNative;
  std::string python{};  // the interpreter; empty: as the machine has it
};

// As if what the program says had been typed, where nothing was.
void take_words(const ProgramFacts& program, LaunchRequest& request);

struct Launch {
  model::JobSpec spec{};
  std::uint32_t logical_workers = 1;
  model::SampleCount samples = 0;
  std::optional<std::uint64_t> steps{};  // to train in all; nothing when it depends on the workers
  model::WorkerRange range{};
  std::uint32_t wanted = 1;  // at the beginning
  model::Batch batch{};      // of the first view
  model::Fingerprint fingerprint{};
  bool reproducible = true;                   // all of it was trained with this fingerprint
  std::vector<std::string> warnings{};        // of the program, a sentence each
  std::optional<train::MemoryBill> memory{};  // of one worker
  std::string note{};                         // a sentence when something was cut, else empty
};

Result<Launch> plan_launch(const LaunchRequest& request, const ProgramFacts& program,
                           std::uint32_t cores);

// A plain command, in mode stop-resume: all there is to plan are its workers.
Result<Launch> plan_stop_resume(const LaunchRequest& request, std::uint32_t cores);

// The same job with another range of workers, as `edl resume --workers` asks for.
Result<Launch> with_workers(Launch launch, std::optional<model::WorkerRange> workers,
                            std::optional<std::uint32_t> start, std::uint32_t cores);

// Takes the bill of a job's workers on this machine, and a warning when it is close; an error when
// `workers` of them cannot be here.
Result<void> take_memory(const ProgramFacts& program, std::uint32_t workers,
                         std::uint64_t available, Launch& launch);

// "examples/My_Digits.py" -> "my-digits", "builtin:mlp" -> "mlp".
std::string program_name(const std::string& program);
// The program's name and the first number from 1 on that is free.
std::string free_name(const std::string& program,
                      const std::function<bool(const std::string&)>& taken);

}  // namespace edl::agent
