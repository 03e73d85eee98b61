// The program that tests of `spawn` start on a real machine. With "fork-server" it first becomes
// one; with "threads" it has a second thread then, which a fork server must refuse to fork.
#include <cstdlib>

#include "edl/os/channel.h"
#include "edl/os/child_test.h"
#include "edl/os/posix/fork_server.h"
#include "edl/os/posix/system.h"
#include "edl/os/thread.h"

int main(int argc, char** argv) {
  using namespace edl;
  using namespace edl::os;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const char* variable = std::getenv(kParentVariable);
  int parent = variable == nullptr ? -1 : std::atoi(variable);
  if (!arguments.empty() && arguments[0] == "fork-server") {
    Channel<int> quiet(1);
    std::unique_ptr<Thread> thread;
    if (arguments.size() > 1) {
      thread = std::make_unique<Thread>("extra", [&] { (void)quiet.receive(1h); });
    }
    const auto child = serve_forks(parent);
    quiet.close();
    if (!child) return 0;
    arguments = child->arguments;
    parent = child->parent_descriptor;
  }
  const auto sink = silent_log_sink();
  const auto system = posix_system({.log_sink = sink.get(), .parent_descriptor = parent});
  const TestChild program(*system, arguments);
  return system->run();
}
