// Child processes: started by path, or forked from a process that has loaded what they need.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edl/base/result.h"
#include "edl/os/network.h"

namespace edl::os {

enum class Signal { kTerminate, kInterrupt, kKill, kStop, kContinue };
const char* signal_name(Signal signal);

// How a process ended: by itself with a code, or by a signal.
struct Exit {
  int code = 0;
  int signal = 0;  // 0 when it ended by itself
  bool operator==(const Exit&) const = default;
};
std::string exit_text(const Exit& exit);

struct Spawn {
  std::vector<std::string> argv;                                 // argv[0] is the program's path
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::string directory;                                         // to run in; empty: ours
  std::string output_path;  // standard output and error are appended there; empty: ours
  bool dies_with_parent = false;
  bool own_session = false;  // what is typed at our terminal (Ctrl-C) does not reach it
  // With a session of its own: signals reach all that it starts too, what is left of them when it
  // ends is killed, and only then its exit is told.
  bool as_group = false;
};

using ExitDone = std::function<void(Exit)>;

// A child that we started. Destroying it closes its stream and drops the exit report; the process
// lives on until it notices.
class Child {
 public:
  virtual ~Child() = default;
  virtual int pid() const = 0;
  virtual Result<void> signal(Signal signal) = 0;
  // A stream to the child's `Processes::parent`. Each sees the other's death as its end.
  virtual Stream& stream() = 0;
};

using ForkDone = std::function<void(Result<std::unique_ptr<Child>>)>;

// A process without threads that has loaded its libraries and waits to be forked. Its death does
// not touch the children it made; their exits are then reported by us.
class ForkServer {
 public:
  virtual ~ForkServer() = default;
  // The child continues where the server's `serve_forks` returns, with these arguments.
  virtual void fork(std::vector<std::string> arguments, std::string output_path, ForkDone done,
                    ExitDone exited) = 0;
};

class Processes {
 public:
  virtual ~Processes() = default;
  virtual Result<std::unique_ptr<Child>> spawn(const Spawn& spawn, ExitDone exited) = 0;
  // Starts `spawn` as a fork server; `exited` tells when it is gone.
  virtual Result<std::unique_ptr<ForkServer>> spawn_fork_server(const Spawn& spawn,
                                                                ExitDone exited) = 0;
  // The stream to the process that started us, when it did so by `spawn` or `fork`; else null.
  virtual Stream* parent() = 0;
  // Ends this process on the spot, with a code or by a signal: nothing is flushed, closed or told.
  // For drills and programs that hang; any thread may call it.
  virtual void end_self(const Exit& exit) = 0;
};

}  // namespace edl::os
