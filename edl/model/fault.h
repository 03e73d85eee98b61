// A fault for a drill, as `--fault=PHASE@STEP[/WORKER]=ACTION` asks for it. It fires once in a
// job's life, on one worker: the one that is named, else the first to enter the phase at or after
// the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/base/time.h"
#include "edl/model/ids.h"

namespace edl::model {

// Places in a worker's life. Those that only a view change, a join or a checkpoint passes wait for
// the next one.
enum class FaultPhase {
  kData,
  kCompute,
  kReduce,
  kGather,
  kApply,
  kLedger,
  kSnapshot,
  kReplay,
  kPromise,
  kHandover,
  kPublish,
  kCheckpointWrite,
  kCheckpointSync,
  kCheckpointRename,
  kCheckpointRecord,
};
std::string_view name(FaultPhase phase);
Result<FaultPhase> parse_fault_phase(std::string_view word);

enum class FaultAction {
  kKill,  // SIGKILL
  kStop,  // SIGSTOP; the agent continues the worker after `pause`
  kExit,  // ends the process with `code`
  kSlow,  // the worker computes `factor` times as long from now on
  kCut,   // the connection with worker `cut` breaks and stays broken
};
std::string_view name(FaultAction action);

struct Fault {
  FaultPhase phase = FaultPhase::kCompute;
  Step step;
  std::optional<WorkerId> worker{};
  FaultAction action = FaultAction::kKill;
  Duration pause{};   // of kStop
  int code = 0;       // of kExit
  double factor = 1;  // of kSlow
  WorkerId cut{};     // of kCut

  bool operator==(const Fault&) const = default;
};

// A job has at most so many.
inline constexpr std::size_t kFaultsMax = 256;

// "compute@20/w2=stop:500".
Result<Fault> parse_fault(std::string_view text);
std::string fault_text(const Fault& fault);

// In JSON a fault is its text.
void to_json(Json& json, const Fault& fault);
Result<Fault> fault_from(const Json& json);

// Whether `fault` fires on worker `id` that enters `phase` of `step`.
bool fires(const Fault& fault, FaultPhase phase, Step step, std::string_view id);

}  // namespace edl::model
