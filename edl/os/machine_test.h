// For tests: one virtual machine with a disk that can fail.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/os/virtual/world.h"

namespace edl::os {

class Machine {
 public:
  explicit Machine(std::uint64_t seed = 1) : world_({.seed = seed, .quiet = true}) {
    world_.add_node("a");
  }
  VirtualWorld& world() { return world_; }
  VirtualDisk& disk() { return world_.disk(0); }

  // Each is a process of its own, which the power may leave in the middle.
  void run(const std::function<void(System&)>& body) {
    const std::string name = "body" + std::to_string(++runs_);
    world_.install(name, [body](System& system, const Arguments&) {
      body(system);
      system.finish(0);
      return std::make_unique<Program>();
    });
    world_.start(0, {name});
    world_.run_for(1s);
  }
  void run(const std::function<void(Disk&)>& body) {
    run([&](System& system) { body(system.disk()); });
  }

  // No fault waits any more, and the power is back.
  void recover() {
    disk().calm();
    if (!world_.is_up(0)) world_.boot(0);
  }

 private:
  VirtualWorld world_;
  int runs_ = 0;
};

}  // namespace edl::os
