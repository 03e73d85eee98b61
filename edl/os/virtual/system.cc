#include "edl/os/virtual/system.h"

#include "edl/base/text.h"
#include "edl/os/virtual/connection.h"

namespace edl::os {

// 2026-01-01, so that a virtual wall clock looks like one.
constexpr auto kWallStart = std::chrono::seconds(1767225600);
constexpr auto kTimerLateMax = 50us;  // a kernel is never early and seldom exact
constexpr auto kExitReportMax = 5ms;

class VirtualLogSink final : public LogSink {
 public:
  VirtualLogSink(Trace& trace, const EventQueue& events, std::string who, bool quiet)
      : trace_(trace), events_(events), who_(std::move(who)), quiet_(quiet) {}
  bool wants(Level level) const override { return !quiet_ && level >= Level::kInfo; }
  void line(Level, std::string_view line) override { trace_.line(events_.now(), who_, line); }

 private:
  Trace& trace_;
  const EventQueue& events_;
  std::string who_;
  bool quiet_;
};

class VirtualTimer final : public Pending::Operation {
 public:
  explicit VirtualTimer(std::shared_ptr<Task> task) : task_(std::move(task)) {}
  ~VirtualTimer() override { *task_ = nullptr; }

 private:
  std::shared_ptr<Task> task_;
};

class VirtualChild final : public Child {
 public:
  VirtualChild(VirtualWorld& world, EventQueue& events, int pid, std::unique_ptr<Stream> stream,
               std::shared_ptr<ExitDone> exited)
      : world_(world),
        events_(events),
        pid_(pid),
        stream_(std::move(stream)),
        exited_(std::move(exited)) {}
  ~VirtualChild() override { *exited_ = nullptr; }

  int pid() const override { return pid_; }
  Result<void> signal(Signal signal) override {
    if (!world_.is_alive(pid_)) {
      return Error{Code::kNotFound, text("cannot send ", signal_name(signal), ": it ended")};
    }
    events_.after(Duration::zero(),
                  [&world = world_, pid = pid_, signal] { world.send_signal(pid, signal); });
    return {};
  }
  Stream& stream() override { return *stream_; }

 private:
  VirtualWorld& world_;
  EventQueue& events_;
  int pid_;
  std::unique_ptr<Stream> stream_;
  std::shared_ptr<ExitDone> exited_;
};

class VirtualProcesses final : public Processes {
 public:
  VirtualProcesses(VirtualWorld& world, std::weak_ptr<VirtualProcess> self,
                   std::unique_ptr<Stream> parent)
      : world_(world), self_(std::move(self)), parent_(std::move(parent)) {}

  Result<std::unique_ptr<Child>> spawn(const Spawn& spawn, ExitDone exited) override {
    if (!world_.programs_.contains(spawn.argv[0])) {
      return Error{Code::kNotFound,
                   text("cannot run ", spawn.argv[0], ": No such file or directory")};
    }
    const ProcessPtr self = self_.lock();
    const ProcessPtr child = world_.make_process(self->node, spawn.argv);
    child->parent = self_;
    child->dies_with_parent = spawn.dies_with_parent || self->in_group;
    child->in_group = spawn.as_group || self->in_group;
    auto [ours, theirs] = world_.network_.pair(self, child);
    child->system = virtual_system(world_, child, std::move(theirs));
    const auto told = std::make_shared<ExitDone>(std::move(exited));
    child->on_death = [this_world = &world_, weak = self_, raw = child.get(), told] {
      const ProcessPtr parent = weak.lock();
      if (!parent) return;
      const Duration delay =
          this_world->random_.between(Duration::zero(), Duration(kExitReportMax));
      parent->deliver_after(delay, [told, exit = raw->exit] {
        if (*told) (*told)(exit);
      });
    };
    world_.launch(child);
    return std::make_unique<VirtualChild>(world_, world_.events_, child->pid, std::move(ours),
                                          told);
  }

  Result<std::unique_ptr<ForkServer>> spawn_fork_server(const Spawn& spawn,
                                                        ExitDone exited) override;
  Stream* parent() override { return parent_.get(); }

  void end_self(const Exit& exit) override {
    const ProcessPtr self = self_.lock();
    if (!self || !self->running()) return;
    self->finish();
    world_.events_.after(Duration::zero(), [this_world = &world_, self, exit] {
      this_world->end_process(self, exit);
    });
  }

 private:
  VirtualWorld& world_;
  std::weak_ptr<VirtualProcess> self_;
  std::unique_ptr<Stream> parent_;
};

// A virtual process has nothing to load, so forking is starting; but only while the server lives.
class VirtualForkServer final : public ForkServer {
 public:
  VirtualForkServer(VirtualWorld& world, VirtualProcesses& processes, ProcessPtr owner,
                    std::string program, std::unique_ptr<Child> server)
      : world_(world),
        processes_(processes),
        owner_(owner),
        program_(std::move(program)),
        server_(std::move(server)) {}

  void fork(std::vector<std::string> arguments, std::string output_path, ForkDone done,
            ExitDone exited) override {
    Spawn spawn{.argv = {program_},
                .environment = {},
                .directory = {},
                .output_path = std::move(output_path)};
    spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
    auto child = std::make_shared<Result<std::unique_ptr<Child>>>(
        Error{Code::kUnavailable, text("the fork server, process ", server_->pid(), ", ended")});
    if (world_.is_alive(server_->pid())) *child = processes_.spawn(spawn, std::move(exited));
    if (const ProcessPtr owner = owner_.lock()) {
      owner->deliver_after(Duration::zero(), [child, done] { done(std::move(*child)); });
    }
  }

 private:
  VirtualWorld& world_;
  VirtualProcesses& processes_;
  std::weak_ptr<VirtualProcess> owner_;
  std::string program_;
  std::unique_ptr<Child> server_;
};

Result<std::unique_ptr<ForkServer>> VirtualProcesses::spawn_fork_server(const Spawn& asked,
                                                                        ExitDone exited) {
  const std::string idle = text(asked.argv[0], " (fork server)");
  world_.install(idle, [](System&, const Arguments&) { return std::make_unique<Program>(); });
  Spawn server = asked;
  server.argv = {idle};
  EDL_TRY(auto child, spawn(server, std::move(exited)));
  return std::make_unique<VirtualForkServer>(world_, *this, self_.lock(), asked.argv[0],
                                             std::move(child));
}

class VirtualSystem final : public System, private Network {
 public:
  VirtualSystem(VirtualWorld& world, const ProcessPtr& process, std::unique_ptr<Stream> parent)
      : world_(world),
        process_(process),
        node_(process->node),
        sink_(world.trace_, world.events_, world.node_name(process->node), world.options_.quiet),
        log_(sink_, text(process->argv[0], "/", process->pid)),
        random_(world.random_.fork()),
        processes_(world, process, std::move(parent)) {
    const auto running = [weak = process_] {
      const ProcessPtr held = weak.lock();
      return held && held->running();
    };
    disk_ = world.node_at(node_).disk->face(process->pid, running);
  }

  Time now() const override { return world_.events_.now() + machine().clock_offset; }
  WallTime wall_time() const override {
    return WallTime(kWallStart + world_.events_.now().time_since_epoch() + machine().wall_offset);
  }
  Pending after(Duration delay, Task task) override {
    const auto held = std::make_shared<Task>(std::move(task));
    const Duration late = random_.between(Duration::zero(), Duration(kTimerLateMax));
    const Duration due = std::max(delay, Duration::zero()) + late;
    if (const ProcessPtr process = process_.lock()) {
      process->deliver_after(due, [held] {
        if (!*held) return;
        const Task once = std::move(*held);
        *held = nullptr;
        once();
      });
    }
    return Pending(std::make_unique<VirtualTimer>(held));
  }
  void post(Task task) override {
    if (const ProcessPtr process = process_.lock()) {
      process->deliver_after(Duration::zero(), std::move(task));
    }
  }
  void fill_random(ByteSpan into) override {
    for (std::byte& byte : into) byte = static_cast<std::byte>(random_.next());
  }
  void on_signal(Signal signal, Task task) override {
    if (const ProcessPtr process = process_.lock()) process->on_signal[signal] = std::move(task);
  }
  void finish(int exit_code) override {
    const ProcessPtr process = process_.lock();
    if (!process) return;
    process->finish();
    world_.events_.after(Duration::zero(), [&world = world_, process, exit_code] {
      world.end_process(process, {.code = exit_code, .signal = 0});
    });
  }
  Network& network() override { return *this; }
  Disk& disk() override { return *disk_; }
  Processes& processes() override { return processes_; }
  Result<std::unique_ptr<Memory>> make_memory(std::size_t bytes) override {
    if (bytes == 0) return Error{Code::kInvalid, "cannot make shared memory of 0 bytes"};
    const auto content = std::make_shared<Bytes>(bytes);
    std::string place = text(node_, "/", world_.next_memory_++);
    world_.memories_[place] = content;
    return std::make_unique<VirtualMemory>(content, std::move(place));
  }
  Result<std::unique_ptr<Memory>> find_memory(const std::string& place) override {
    const auto found = world_.memories_.find(place);
    const auto content = found == world_.memories_.end() ? nullptr : found->second.lock();
    if (!content || !place.starts_with(text(node_, "/"))) {
      return Error{Code::kNotFound, text("there is no shared memory ", place)};
    }
    return std::make_unique<VirtualMemory>(content);
  }
  const Log& log() override { return log_; }

 private:
  const VirtualWorld::Node& machine() const { return world_.node_at(node_); }
  Result<std::unique_ptr<Listener>> listen(const Address& address, Accept accept) override {
    const ProcessPtr process = process_.lock();
    if (!process || !process->running()) return Error{Code::kUnavailable, "this process has ended"};
    return world_.network_.listen(process, address, std::move(accept));
  }
  Pending connect(const Address& address, Duration limit, ConnectDone done) override {
    const ProcessPtr process = process_.lock();
    if (!process || !process->running()) return Pending();
    return world_.network_.connect(process, address, limit, std::move(done));
  }

  VirtualWorld& world_;
  std::weak_ptr<VirtualProcess> process_;
  int node_;
  VirtualLogSink sink_;
  Log log_;
  Random random_;
  VirtualProcesses processes_;
  std::unique_ptr<Disk> disk_;
};

std::unique_ptr<System> virtual_system(VirtualWorld& world, const ProcessPtr& process,
                                       std::unique_ptr<Stream> parent) {
  return std::make_unique<VirtualSystem>(world, process, std::move(parent));
}

}  // namespace edl::os
