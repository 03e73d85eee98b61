// Faults on request (`--fault`): strikes when this worker enters the phase that a fault names. Each
// fires once in a job, on one worker: who makes the file DIR/faults/FAULT first.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edl/model/fault.h"
#include "edl/os/system.h"

namespace edl::train {

// The names of their files: what they say and not their places in the list, because the next run
// of the job may be given others.
std::vector<std::string> claim_names(std::span<const model::Fault> faults);

class Drill {
 public:
  struct Events {
    std::function<void(std::size_t number, const model::Fault&)> stop;  // the agent does it
    std::function<void(double factor)> slow;
    std::function<void(const model::WorkerId&)> cut;
  };

  Drill(os::System& system, std::string dir, model::WorkerId self, std::vector<model::Fault> faults,
        Events events);

  // Whether something may strike this worker yet.
  bool is_armed() const;
  // On the loop.
  void enter(model::FaultPhase phase, model::Step step);
  // For phases of writing, on the thread that writes.
  void enter_off_loop(model::FaultPhase phase, model::Step step);

 private:
  struct Armed {
    model::Fault fault;
    std::string claim;  // the file's name
    bool spent = false;
  };
  bool claim(const std::string& name);

  os::System& system_;
  const std::string dir_;
  const model::WorkerId self_;
  const Events events_;
  std::vector<Armed> faults_;    // of the loop
  std::vector<Armed> off_loop_;  // of the thread that writes
};

}  // namespace edl::train
