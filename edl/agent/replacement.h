// How many workers to start now, and when to look again: the dead are replaced until `wanted` is
// reached. Plain state; time is an argument.
//
// Ends that are the program's fault (crashed, oom) use a budget, delay the replacement and, when
// the same part of the same step fails on two workers, end the job. All others are replaced at
// once, without end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "edl/base/time.h"
#include "edl/model/ids.h"
#include "edl/model/worker.h"

namespace edl::agent {

struct ReplacementRules {
  std::size_t crashes_max = 5;  // within `window`; one more ends the job
  Duration window = 10min;
  Duration first_delay = 200ms;  // doubles with each crash within the window
  Duration delay_max = 30s;
};

// Where a program failed, as the worker told before it ended: in a part, or in an update.
struct FailedPart {
  model::Step step;
  std::optional<model::LogicalWorker> v;
  std::string message;
};

struct WorkerEnd {
  model::WorkerId id;
  model::ExitClass exit_class = model::ExitClass::kLeft;
  std::string reason{};  // one sentence
  std::string log{};     // path of what it printed
  std::optional<FailedPart> part{};
};

struct JobFailure {
  std::string reason;
  model::WorkerId worker;
  std::string log;
};

struct Replacements {
  std::uint32_t start = 0;
  std::optional<Time> look_again{};
};

class Replacement {
 public:
  explicit Replacement(ReplacementRules rules = {}) : rules_(rules) {}

  void ended(const WorkerEnd& end, Time now);
  // Once it is there it stays.
  const std::optional<JobFailure>& failure() const { return failure_; }
  // `alive` counts those that are starting too.
  Replacements decide(std::uint32_t wanted, std::uint32_t alive, Time now);

 private:
  void count_crash(const WorkerEnd& end, Time now);
  void count_part(const WorkerEnd& end);

  const ReplacementRules rules_;
  std::deque<Time> crashes_;  // within the window
  std::deque<Time> holds_;    // one place each stays empty until then; ascending
  std::map<std::pair<model::Step, model::LogicalWorker>, WorkerEnd> failed_parts_;
  std::optional<JobFailure> failure_;
};

}  // namespace edl::agent
