// What stands behind the `main` of a program: its arguments, its environment and its end.
#include <cstdio>
#include <cstdlib>

#include "edl/base/text.h"
#include "edl/os/posix/system.h"
#include "edl/torch/program.h"
#include "edl/torch/trainee.h"
#include "edl/train/parent_frame.h"
#include "edl/train/worker_main.h"

namespace edl::torch {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int run(int argc, char** argv, const Program& program) {
  const int parent = train::parent_descriptor(variable(os::kParentVariable));
  if (parent < 0) {
    std::fprintf(stderr, "%s: this program is trained by EDL; start it with: edl run %s\n",
                 argc > 0 ? argv[0] : "", argc > 0 ? argv[0] : "PROGRAM");
    return 2;
  }
  train::WorkerProgram worker;
  const auto given = program.data();  // once: workers that are forked from here share it
  if (!given.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], given.error().message.c_str());
    return 1;
  }
  const std::shared_ptr<const Dataset>& data = *given;
  worker.facts = {{"samples", data->size()},
                  {"batch", program.batch},
                  {"epochs", program.epochs},
                  {"batch_policy", model::name(program.batch_policy)},
                  {"lr_rule", model::name(program.lr_rule)},
                  {"warmup_samples", program.warmup_samples},
                  {"lars", true}};
  if (program.batch_max) worker.facts["batch_max"] = *program.batch_max;
  if (program.logical_workers) worker.facts["logical_workers"] = *program.logical_workers;
  worker.make = [&program, &data] { return TorchTrainee::make(program, data); };
  return train::worker_main(worker, variable(train::kRoleVariable), parent);
}

}  // namespace edl::torch
