#include "edl/agent/exit_class.h"

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr int kHangUp = 1;
constexpr int kKill = 9;
constexpr int kTerminate = 15;

// What clusters send to ask a process to go; no program raises these against itself. An interrupt
// is not among them: workers are in sessions of their own, and Python raises it after
// KeyboardInterrupt.
bool is_polite(int signal) { return signal == kHangUp || signal == kTerminate; }

}  // namespace

model::ExitClass classify(const EndFacts& facts) {
  const int signal = facts.exit.signal;
  if (signal == kKill) {
    return facts.oom_kills > 0 ? model::ExitClass::kOom : model::ExitClass::kKilled;
  }
  if (is_polite(signal)) return model::ExitClass::kPreempted;
  if (signal != 0 || facts.exit.code != 0) return model::ExitClass::kCrashed;
  if (facts.preempted) return model::ExitClass::kPreempted;
  // A program that ends its worker with 0 in the middle of training has not left: it broke.
  return facts.leaving ? model::ExitClass::kLeft : model::ExitClass::kCrashed;
}

std::string end_reason(const os::Exit& exit, model::ExitClass exit_class) {
  switch (exit_class) {
    case model::ExitClass::kLeft:
      return "It left.";
    case model::ExitClass::kCrashed:
      return text("It crashed: ", os::exit_text(exit), ".");
    case model::ExitClass::kKilled:
      return "It was killed from outside (SIGKILL).";
    case model::ExitClass::kPreempted:
      return exit.signal == 0 ? "It was asked to go, and left." : "It was asked to go.";
    case model::ExitClass::kOom:
      return "The kernel killed it because memory ran out.";
  }
  return "";
}

}  // namespace edl::agent
