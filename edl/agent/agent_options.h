// What an agent is told when it is made, and whom it talks to.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edl/agent/event_log.h"
#include "edl/agent/inheritance.h"
#include "edl/agent/job_directory.h"
#include "edl/agent/numerics.h"
#include "edl/model/fault.h"

namespace edl::agent {

enum class AgentMode { kRun, kResume, kJoin };

struct AgentOptions {
  AgentMode mode = AgentMode::kRun;
  Launch launch{};
  std::optional<Inheritance> inherited{};  // of kRun
  JobPaths paths{};
  std::vector<std::string> store{};  // addresses; empty: a store of our own
  std::string token{};               // of that store
  std::string token_file{};
  std::string secret{};
  std::string host{};
  int pid = 0;
  std::string edl{};                // path of our own program
  std::vector<std::string> argv{};  // what a worker runs
  Environment environment{};        // for it, beside ours
  std::string address = "127.0.0.1";
  std::vector<model::Fault> faults{};
  std::string trace_samples{};
  bool all_events = false;
  Duration grace = 30s;
  std::uint32_t join_workers = 1;  // of kJoin
};

// Where an agent's words go.
class AgentFace {
 public:
  virtual ~AgentFace() = default;
  virtual void event(const OrderedJson& event) = 0;
  virtual void say(const std::string& sentence) = 0;
};

}  // namespace edl::agent
