#include "edl/os/virtual/world.h"

#include <csignal>

#include "edl/base/text.h"
#include "edl/os/virtual/system.h"

namespace edl::os {
namespace {

constexpr auto kStartDelayMin = 2ms;
constexpr auto kStartDelayMax = 10ms;
constexpr auto kWallSkewMax = 500ms;

}  // namespace

VirtualWorld::VirtualWorld(VirtualOptions options)
    : options_(options), random_(options.seed), network_(events_, random_.next(), trace_) {}

VirtualWorld::~VirtualWorld() {
  // Programs hold streams that hold processes: end them while the network still stands.
  for (auto& [pid, process] : processes_) process->die();
}

int VirtualWorld::add_node(const std::string& name) {
  auto node = std::make_unique<Node>();
  node->name = name;
  node->disk = std::make_unique<VirtualDisk>(random_.next(), trace_);
  node->clock_offset = random_.between(Duration(1s), Duration(1000h));
  node->wall_offset = random_.between(-Duration(kWallSkewMax), Duration(kWallSkewMax));
  nodes_.push_back(std::move(node));
  network_.add_node(name);
  return node_count() - 1;
}

void VirtualWorld::install(const std::string& name, MakeProgram make) {
  programs_[name] = std::move(make);
}

ProcessPtr VirtualWorld::make_process(int node, Arguments argv) {
  auto process = std::make_shared<VirtualProcess>(events_, next_pid_++, node, std::move(argv));
  processes_[process->pid] = process;
  return process;
}

void VirtualWorld::launch(const ProcessPtr& process) {
  if (!process->system) process->system = virtual_system(*this, process, nullptr);
  const auto make = programs_.find(process->argv[0]);
  EDL_CHECK(make != programs_.end(), text("no program \"", process->argv[0], "\" is installed"));
  const Duration delay = random_.between(Duration(kStartDelayMin), Duration(kStartDelayMax));
  process->deliver_after(delay, [process, program = make->second] {
    process->program = program(*process->system, process->argv);
  });
}

int VirtualWorld::start(int node, Arguments argv) {
  EDL_CHECK(node_at(node).up, "a process on a node without power");
  const ProcessPtr process = make_process(node, std::move(argv));
  launch(process);
  return process->pid;
}

void VirtualWorld::keep_running(int node, Arguments argv, Duration restart_after) {
  node_at(node).units.push_back({std::move(argv), restart_after});
  start_unit(node, node_at(node).units.back());
}

void VirtualWorld::start_unit(int node, const Unit& unit) {
  const ProcessPtr process = make_process(node, unit.argv);
  const int boots = node_at(node).boots;
  process->on_death = [this, node, unit, boots] {
    events_.after(unit.restart_after, [this, node, unit, boots] {
      if (node_at(node).up && node_at(node).boots == boots) start_unit(node, unit);
    });
  };
  launch(process);
}

void VirtualWorld::run_for(Duration duration) {
  run_until([] { return false; }, duration);
}

bool VirtualWorld::run_until(const std::function<bool()>& condition, Duration limit) {
  const Time end = events_.now() + limit;
  if (condition()) return true;
  while (!events_.empty() && events_.next_time() <= end) {
    events_.run_next();
    trace_.number(static_cast<std::uint64_t>(events_.now().time_since_epoch().count()));
    if (condition()) return true;
  }
  events_.advance_to(end);
  return false;
}

ProcessPtr VirtualWorld::find(int pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : found->second;
}

bool VirtualWorld::is_alive(int pid) const { return find(pid) != nullptr; }

std::vector<int> VirtualWorld::processes_on(int node) const {
  std::vector<int> pids;
  for (const auto& [pid, process] : processes_) {
    if (process->node == node) pids.push_back(pid);
  }
  return pids;
}

void VirtualWorld::send_signal(int pid, Signal signal) {
  const ProcessPtr process = find(pid);
  if (!process) return;
  trace_.hit(text("fault.", signal_name(signal)));
  narrate(process->node, text(signal_name(signal), " process ", pid));
  switch (signal) {
    case Signal::kKill:
      return end_process(process, {.code = 0, .signal = SIGKILL});
    case Signal::kStop:
      return process->pause();
    case Signal::kContinue:
      return process->resume();
    case Signal::kTerminate:
    case Signal::kInterrupt:
      break;
  }
  const auto wanted = process->on_signal.find(signal);
  if (wanted != process->on_signal.end()) {
    process->deliver_after(Duration::zero(), wanted->second);
  } else {
    end_process(process, {.code = 0, .signal = signal == Signal::kTerminate ? SIGTERM : SIGINT});
  }
}

void VirtualWorld::end_process(const ProcessPtr& process, Exit exit) {
  if (!process->alive()) return;
  process->exit = exit;
  processes_.erase(process->pid);
  process->die();
  network_.process_died(process->pid);
  node_at(process->node).disk->release_locks(process->pid);
  const auto others = processes_;
  for (const auto& [pid, other] : others) {
    if (other->dies_with_parent && other->parent.lock() == process) {
      end_process(other, {.code = 0, .signal = SIGKILL});
    }
  }
  if (process->on_death) process->on_death();
}

void VirtualWorld::cut_power(int node) {
  Node& machine = node_at(node);
  if (!machine.up) return;
  trace_.hit("fault.power_cut");
  narrate(node, "loses power");
  machine.up = false;
  network_.power_lost(node);
  for (const int pid : processes_on(node)) {
    const ProcessPtr process = find(pid);
    if (!process) continue;  // it has died with its parent
    process->on_death = nullptr;
    end_process(process, {.code = 0, .signal = SIGKILL});
  }
  machine.disk->disarm();
  machine.disk->lose_power();
}

void VirtualWorld::cut_power_at_disk_call(int node, std::uint64_t calls) {
  disk(node).arm(calls, [this, node](int) {
    trace_.hit("fault.power_cut_between_calls");
    for (const int pid : processes_on(node)) find(pid)->finish();
    events_.after(Duration::zero(), [this, node] { cut_power(node); });
  });
}

void VirtualWorld::kill_at_disk_call(int node, std::uint64_t calls) {
  disk(node).arm(calls, [this](int pid) {
    const ProcessPtr process = find(pid);
    if (!process) return;
    trace_.hit("fault.kill_between_calls");
    process->finish();
    events_.after(Duration::zero(), [this, pid] { send_signal(pid, Signal::kKill); });
  });
}

void VirtualWorld::boot(int node) {
  Node& machine = node_at(node);
  if (machine.up) return;
  narrate(node, "boots");
  machine.up = true;
  ++machine.boots;
  machine.clock_offset =
      random_.between(Duration(1s), Duration(1000h)) - events_.now().time_since_epoch();
  network_.power_back(node);
  for (const Unit& unit : machine.units) start_unit(node, unit);
}

void VirtualWorld::cut_link(int from, int to) {
  if (++link(from, to).cuts == 1) narrate(from, text("can no longer reach ", node_name(to)));
}

void VirtualWorld::heal_link(int from, int to) {
  EDL_CHECK(link(from, to).cuts > 0, "a link that is not cut");
  if (--link(from, to).cuts == 0) narrate(from, text("reaches ", node_name(to), " again"));
}

void VirtualWorld::jump_wall_clock(int node, Duration by) {
  trace_.hit("fault.clock_jump");
  narrate(node, text("its wall clock jumps by ", by));
  node_at(node).wall_offset += by;
}

void VirtualWorld::narrate(int node, const std::string& what) {
  if (!options_.quiet) trace_.line(events_.now(), node_name(node), text("* ", what));
}

}  // namespace edl::os
