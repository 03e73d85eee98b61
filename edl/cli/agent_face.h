// What a person or a script sees of an agent: events as JSON lines, or sentences and progress.
#pragma once

#include <functional>

#include "edl/agent/agent.h"
#include "edl/cli/console.h"
#include "edl/cli/progress.h"

namespace edl::cli {

struct FaceOptions {
  bool json = false;
  std::optional<std::uint64_t> steps{};
  std::optional<int> columns{};
  std::function<void()> on_started = [] {};  // the job is ours
};

class ConsoleFace final : public agent::AgentFace {
 public:
  ConsoleFace(os::System& system, Output& out, Output& talk, FaceOptions options);

  void event(const agent::OrderedJson& event) override;
  void say(const std::string& sentence) override;
  void close();

 private:
  void write(const std::string& words);

  os::System& system_;
  Output& out_;
  Output& talk_;
  const bool json_;
  const std::function<void()> on_started_;
  Progress progress_;
};

}  // namespace edl::cli
