// The process of a worker: what a program's `main` calls when an agent has started it.
#pragma once

#include <functional>
#include <memory>
#include <string>
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

// `role` and `parent_descriptor` are what the environment says (kRoleVariable,
// os::kParentVariable). Answers the exit code.
int worker_main(const WorkerProgram& program, const std::string& role, int parent_descriptor);

}  // namespace edl::train
