// A cluster in one process and one thread: nodes with disks, clocks and a network, processes that
// run real programs on them, in virtual time. The same seed gives the same run, event for event.
//
//   VirtualWorld world({.seed = 7});
//   const int node = world.add_node("a");
//   world.install("lock-server", [](System& system, const Arguments& argv) { ... });
//   world.keep_running(node, {"lock-server", "--port=80"});
//   world.run_for(10min);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/os/system.h"
#include "edl/os/virtual/disk.h"
#include "edl/os/virtual/events.h"
#include "edl/os/virtual/network.h"
#include "edl/os/virtual/process.h"
#include "edl/os/virtual/trace.h"

namespace edl::os {

using Arguments = std::vector<std::string>;
using MakeProgram = std::function<std::unique_ptr<Program>(System&, const Arguments& argv)>;

struct VirtualOptions {
  std::uint64_t seed = 1;
  bool quiet = false;  // log lines are neither made nor hashed: for long runs
};

class VirtualWorld {
 public:
  explicit VirtualWorld(VirtualOptions options);
  ~VirtualWorld();
  VirtualWorld(const VirtualWorld&) = delete;
  VirtualWorld& operator=(const VirtualWorld&) = delete;

  // Building.
  int add_node(const std::string& name);
  int node_count() const { return static_cast<int>(nodes_.size()); }
  const std::string& node_name(int node) const {
    return nodes_[static_cast<std::size_t>(node)]->name;
  }
  std::string host_of(int node) const { return network_.host_of(node); }
  // What argv[0] means on every node.
  void install(const std::string& name, MakeProgram make);
  // Answers the pid.
  int start(int node, Arguments argv);
  // Starts it now, after each end of it, and after each boot of the node.
  void keep_running(int node, Arguments argv, Duration restart_after = 1s);

  // Running.
  Time now() const { return events_.now(); }
  void run_for(Duration duration);
  // False when `limit` passed first. The condition is asked after every event.
  bool run_until(const std::function<bool()>& condition, Duration limit);
  void at(Time time, Task task) { events_.at(time, std::move(task)); }
  std::uint64_t event_count() const { return events_.count(); }

  // Faults. They are told to the trace, and counted under "fault.*".
  void send_signal(int pid, Signal signal);
  // All its processes end, its memory is gone, its disk keeps what was synced and some of the rest.
  void cut_power(int node);
  void boot(int node);
  // The same, just before the call number `calls` from now that changes something on its disk:
  // between two system calls of a process, where no event could do it.
  void cut_power_at_disk_call(int node, std::uint64_t calls);
  void kill_at_disk_call(int node, std::uint64_t calls);  // the process that makes the call
  bool is_up(int node) const { return nodes_[static_cast<std::size_t>(node)]->up; }
  void cut_link(int from, int to);  // one way
  void heal_link(int from, int to);
  VirtualLink& link(int from, int to) { return network_.link(from, to); }
  VirtualDisk& disk(int node) { return *nodes_[static_cast<std::size_t>(node)]->disk; }
  void jump_wall_clock(int node, Duration by);

  // Looking.
  std::vector<int> processes_on(int node) const;  // pids of those alive
  bool is_alive(int pid) const;
  Trace& trace() { return trace_; }
  Random& random() { return random_; }

 private:
  friend class VirtualSystem;
  friend class VirtualProcesses;
  friend class VirtualForkServer;

  struct Unit {
    Arguments argv;
    Duration restart_after;
  };
  struct Node {
    std::string name;
    std::unique_ptr<VirtualDisk> disk;
    std::vector<Unit> units;
    bool up = true;
    int boots = 1;
    Duration clock_offset{};  // of the monotonic clock, new at each boot
    Duration wall_offset{};
  };

  Node& node_at(int node) { return *nodes_[static_cast<std::size_t>(node)]; }
  ProcessPtr make_process(int node, Arguments argv);
  // Runs the program of a process that was made.
  void launch(const ProcessPtr& process);
  void start_unit(int node, const Unit& unit);
  void end_process(const ProcessPtr& process, Exit exit);
  ProcessPtr find(int pid) const;
  void narrate(int node, const std::string& what);

  const VirtualOptions options_;
  Random random_;
  Trace trace_;
  EventQueue events_;
  VirtualNetwork network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string, MakeProgram> programs_;
  std::map<int, ProcessPtr> processes_;  // alive, by pid
  int next_pid_ = 100;
  std::map<std::string, std::weak_ptr<Bytes>> memories_;  // by their places
  std::uint64_t next_memory_ = 1;
};

}  // namespace edl::os
