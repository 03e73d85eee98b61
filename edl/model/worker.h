// A worker process as others see it, and how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/ids.h"

namespace edl::model {

enum class WorkerState { kStarting, kJoining, kMember, kLeaving, kSpare, kExited, kLost };
std::string_view name(WorkerState state);
Result<WorkerState> parse_worker_state(std::string_view word);

// Whose doing the end of a worker was. Only kCrashed and kOom count against the program.
enum class ExitClass {
  kLeft,       // scaled in
  kCrashed,    // own exit code, or a signal it raised itself
  kKilled,     // SIGKILL from outside
  kPreempted,  // SIGTERM, and it left
  kOom,        // the cgroup or the kernel says so
};
std::string_view name(ExitClass exit_class);
Result<ExitClass> parse_exit_class(std::string_view word);

struct Exit {
  int code = 0;
  int signal = 0;  // 0: it was no signal
  ExitClass exit_class = ExitClass::kLeft;

  bool operator==(const Exit&) const = default;
};

struct Worker {
  WorkerId id;
  std::int64_t pid = 0;
  std::string host;
  std::optional<Rank> rank;  // of members
  WorkerState state = WorkerState::kStarting;
  std::string reason;        // one sentence: why it is in this state
  std::optional<Exit> exit;  // once it ended

  bool operator==(const Worker&) const = default;
};

// The fields of the event `worker`.
void to_json(Json& json, const Worker& worker);
Result<Worker> worker_from(const Json& json);

}  // namespace edl::model
