#include "edl/os/process.h"

#include "edl/base/text.h"

namespace edl::os {

const char* signal_name(Signal signal) {
  switch (signal) {
    case Signal::kTerminate:
      return "terminate";
    case Signal::kInterrupt:
      return "interrupt";
    case Signal::kKill:
      return "kill";
    case Signal::kStop:
      return "stop";
    case Signal::kContinue:
      return "continue";
  }
  return "unknown";
}

std::string exit_text(const Exit& exit) {
  if (exit.signal != 0) return text("ended by signal ", exit.signal);
  return text("exit code ", exit.code);
}

}  // namespace edl::os
