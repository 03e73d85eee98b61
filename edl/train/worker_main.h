// The process of a worker: what a program's `main` calls when an agent has started it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "edl/train/trainee.h"

namespace edl::train {

struct WorkerProgram {
  // What the program says of itself: `samples`, and if it cares `batch`, `epochs`, `steps`,
  // `logical_workers`, `seed`, `fingerprint`, `warnings`; and `memory`, where it is known without
  // making what is trained.
  Json facts{};
  std::function<Result<std::unique_ptr<Trainee>>()> make{};
  std::function<int()> fork{};  // as os::serve_forks wants it
};

// A process that is to work: forked, perhaps, from one that has loaded the program.
struct BegunWorker {
  std::unique_ptr<Trainee> trainee;
  Json fingerprint{};
  bool replays = false;
  int parent_descriptor = -1;
};

// Does what does not need a worker: tells about the program, forks others. `role` and
// `parent_descriptor` are what the environment says (kRoleVariable, os::kParentVariable). Answers
// the worker that this process is to be, or its exit code. By a process without threads.
std::variant<BegunWorker, int> begin_worker(const WorkerProgram& program, const std::string& role,
                                            int parent_descriptor);
// Answers the exit code. By any thread. What was trained stays in `worker`.
int run_worker(BegunWorker& worker);

// Both.
int worker_main(const WorkerProgram& program, const std::string& role, int parent_descriptor);

}  // namespace edl::train
