// The door to the world. Time, network, disk, processes and chance reach a program only through a
// System: a real one (posix) or one of a seeded virtual cluster. The program cannot tell which.
//
// One loop, one thread: all callbacks run there, one after the other. Only `post` may be called
// from other threads.
#pragma once

#include "edl/base/bytes.h"
#include "edl/base/log.h"
#include "edl/base/time.h"
#include "edl/os/disk.h"
#include "edl/os/network.h"
#include "edl/os/process.h"
#include "edl/os/task.h"

namespace edl::os {

class System {
 public:
  virtual ~System() = default;

  virtual Time now() const = 0;
  virtual WallTime wall_time() const = 0;
  // Runs the task once `delay` has passed, never earlier.
  [[nodiscard]] virtual Pending after(Duration delay, Task task) = 0;
  virtual void post(Task task) = 0;
  virtual void fill_random(ByteSpan into) = 0;

  // Called for each such signal that we receive; kTerminate and kInterrupt only.
  virtual void on_signal(Signal signal, Task task) = 0;
  // Ends the loop; the process exits with this code. Nothing of it runs any more.
  virtual void finish(int exit_code) = 0;

  virtual Network& network() = 0;
  virtual Disk& disk() = 0;
  virtual Processes& processes() = 0;
  virtual Result<std::unique_ptr<Memory>> make_memory(std::size_t bytes) = 0;
  // What a process of this machine has made, for reading. Places are used again: who was told one
  // looks into the memory whether it is the one that was meant.
  virtual Result<std::unique_ptr<Memory>> find_memory(const std::string& place) = 0;
  virtual const Log& log() = 0;
};

// What a process runs: its objects, alive as long as the process is.
class Program {
 public:
  virtual ~Program() = default;
};

}  // namespace edl::os
