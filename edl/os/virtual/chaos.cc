#include "edl/os/virtual/chaos.h"

#include <algorithm>

namespace edl::os {
namespace {

// Draws the faults of one schedule. Only the schedule's own generator decides, so that the faults
// do not depend on what the programs do.
class Schedule {
 public:
  Schedule(VirtualWorld& world, const ChaosPlan& plan)
      : world_(world), plan_(plan), random_(world.random().fork()), nodes_(plan.nodes) {
    for (int node = 0; plan.nodes.empty() && node < world.node_count(); ++node) {
      nodes_.push_back(node);
    }
  }

  void add(Fault fault) {
    const Duration begin = random_.between(Duration::zero(), plan_.length * 8 / 10);
    const Duration rest = plan_.length - begin;
    // Short ones are as likely as long ones: half a second, five, or all that is left.
    const Duration most = std::min<Duration>(rest, random_.once_in(2)   ? 1s
                                                   : random_.once_in(2) ? 8s
                                                                        : rest);
    const Duration length = random_.between(most / 10, most);
    world_.at(world_.now() + begin,
              [this_world = &world_, plan = plan_, fault, length, random = random_.fork(),
               nodes = nodes_]() mutable { strike(*this_world, fault, length, random, nodes); });
  }

  Fault draw() {
    while (true) {
      const auto fault = static_cast<Fault>(random_.below(kFaultKinds));
      const bool banned =
          std::find(plan_.never.begin(), plan_.never.end(), fault) != plan_.never.end();
      if (!banned) return fault;
    }
  }

 private:
  using Links = std::vector<std::pair<int, int>>;

  static void strike(VirtualWorld& world, Fault fault, Duration length, Random& random,
                     const std::vector<int>& nodes) {
    const int node = pick(world, fault, random, nodes);
    const int other = other_node(world, node, random);
    switch (fault) {
      case Fault::kKill:
        return kill(world, node, length, random);
      case Fault::kPowerCut:
        return cut_power(world, node, length, random);
      case Fault::kPause:
        return pause(world, node, length, random);
      case Fault::kPartition:
        return cut(world, "fault.partition", split(world, random), length);
      case Fault::kOneWayCut:
        return cut(world, "fault.one_way_cut", {{node, other}}, length);
      case Fault::kIsolate:
        return cut(world, "fault.isolate", around(world, node), length);
      case Fault::kSlowLink:
        return slow(world, node, other, length, random);
      case Fault::kLossyLink:
        return lose(world, node, other, length);
      case Fault::kClockJump:
        return world.jump_wall_clock(node, random.between(-Duration(1h), Duration(1h)));
      case Fault::kDiskFull:
        return fill(world, node, length);
      case Fault::kDiskSyncError:
        return world.disk(node).fail_next_sync();
    }
  }

  // A crash needs something that can crash: a node with processes, if there is one.
  static int pick(VirtualWorld& world, Fault fault, Random& random, const std::vector<int>& nodes) {
    const bool crash = fault == Fault::kKill || fault == Fault::kPowerCut || fault == Fault::kPause;
    int node = nodes[random.below(nodes.size())];
    for (int tries = 0; crash && world.processes_on(node).empty() && tries < 20; ++tries) {
      node = nodes[random.below(nodes.size())];
    }
    return node;
  }

  static int other_node(VirtualWorld& world, int node, Random& random) {
    const auto count = static_cast<std::uint64_t>(world.node_count());
    if (count < 2) return node;
    return static_cast<int>((static_cast<std::uint64_t>(node) + 1 + random.below(count - 1)) %
                            count);
  }

  static void later(VirtualWorld& world, Duration delay, Task task) {
    world.at(world.now() + delay, std::move(task));
  }

  // Every other crash waits for the node to use its disk and falls between two of its calls; if the
  // node does not use it, the crash comes as an ordinary one. To see crashes during recovery, a
  // process is made to start anew under such a threat now and then.
  static constexpr std::uint64_t kCallsMax = 12;

  static void kill(VirtualWorld& world, int node, Duration length, Random& random) {
    if (!random.once_in(2)) return kill_one(world, node, random);
    world.kill_at_disk_call(node, random.below(kCallsMax));
    if (random.once_in(2)) kill_one(world, node, random);
    later(world, length, [&world, node, own = random.fork()]() mutable {
      if (!world.disk(node).armed()) return;
      world.disk(node).disarm();
      kill_one(world, node, own);
    });
  }

  static void kill_one(VirtualWorld& world, int node, Random& random) {
    const auto pids = world.processes_on(node);
    if (!pids.empty()) world.send_signal(pids[random.below(pids.size())], Signal::kKill);
  }

  static void cut_power(VirtualWorld& world, int node, Duration length, Random& random) {
    if (!world.is_up(node)) return;
    if (random.once_in(2)) {
      world.cut_power_at_disk_call(node, random.below(kCallsMax));
      if (random.once_in(2)) kill_one(world, node, random);
      later(world, length / 2, [&world, node] { world.cut_power(node); });
    } else {
      world.cut_power(node);
    }
    later(world, length, [&world, node] { world.boot(node); });
  }

  static void pause(VirtualWorld& world, int node, Duration length, Random& random) {
    const auto pids = world.processes_on(node);
    if (pids.empty()) return;
    const int pid = pids[random.below(pids.size())];
    world.send_signal(pid, Signal::kStop);
    later(world, length, [&world, pid] { world.send_signal(pid, Signal::kContinue); });
  }

  // Every node on a side of its own choice, at least one on each.
  static Links split(VirtualWorld& world, Random& random) {
    const int count = world.node_count();
    std::vector<bool> left(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = random.once_in(2);
    left.front() = true;
    left.back() = false;
    Links links;
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < count; ++b) {
        if (left[static_cast<std::size_t>(a)] != left[static_cast<std::size_t>(b)])
          links.emplace_back(a, b);
      }
    }
    return links;
  }

  static Links around(VirtualWorld& world, int node) {
    Links links;
    for (int other = 0; other < world.node_count(); ++other) {
      if (other == node) continue;
      links.emplace_back(node, other);
      links.emplace_back(other, node);
    }
    return links;
  }

  static void cut(VirtualWorld& world, const char* name, const Links& links, Duration length) {
    world.trace().hit(name);
    for (const auto& [from, to] : links) world.cut_link(from, to);
    later(world, length, [&world, links] {
      for (const auto& [from, to] : links) world.heal_link(from, to);
    });
  }

  static void slow(VirtualWorld& world, int from, int to, Duration length, Random& random) {
    world.trace().hit("fault.slow_link");
    world.link(from, to).bytes_per_second = 10'000 + random.below(1'000'000);
    world.link(from, to).extra_delay = random.between(Duration(1ms), Duration(300ms));
    later(world, length, [&world, from, to] {
      world.link(from, to).bytes_per_second = 0;
      world.link(from, to).extra_delay = Duration::zero();
    });
  }

  static void lose(VirtualWorld& world, int from, int to, Duration length) {
    world.trace().hit("fault.lossy_link");
    world.link(from, to).lose_one_in = 4;
    later(world, length, [&world, from, to] { world.link(from, to).lose_one_in = 0; });
  }

  static void fill(VirtualWorld& world, int node, Duration length) {
    world.disk(node).limit_bytes(0);
    later(world, length, [&world, node] { world.disk(node).unlimit(); });
  }

  VirtualWorld& world_;
  const ChaosPlan& plan_;
  Random random_;
  std::vector<int> nodes_;
};

}  // namespace

void unleash(VirtualWorld& world, const ChaosPlan& plan) {
  Schedule schedule(world, plan);
  for (const Fault fault : plan.at_least) schedule.add(fault);
  // What still waits for a chance to strike has had its time.
  world.at(world.now() + plan.length, [&world] {
    for (int node = 0; node < world.node_count(); ++node) world.disk(node).calm();
  });
  const int more = plan.faults - static_cast<int>(plan.at_least.size());
  for (int i = 0; i < more; ++i) schedule.add(schedule.draw());
}

}  // namespace edl::os
