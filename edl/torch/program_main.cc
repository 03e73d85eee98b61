// What stands behind the `main` of a program: its arguments, its environment and its end.
#include <cstdio>
#include <cstdlib>

#include "edl/base/text.h"
#include "edl/os/posix/system.h"
#include "edl/torch/fingerprint.h"
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

int fail(const char* program, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", program, error.message.c_str());
  return 1;
}

}  // namespace

int run(int argc, char** argv, const Program& program) {
  const int parent = train::parent_descriptor(variable(os::kParentVariable));
  if (parent < 0) {
    std::fprintf(stderr, "%s: this program is trained by EDL; start it with: edl run %s\n",
                 argc > 0 ? argv[0] : "", argc > 0 ? argv[0] : "PROGRAM");
    return 2;
  }
  const auto sink = stderr_log_sink(Level::kInfo);
  const auto cached = data::cache_options(
      {variable(data::kCacheVariable), variable(data::kCacheMaxVariable),
       variable(data::kS3AccessVariable), variable("XDG_CACHE_HOME"), variable("HOME")});
  if (!cached.ok()) return fail(argv[0], cached.error());
  // It lives as long as the process: what is used from it stays there.
  data::Cache cache({.cache = *cached},
                    [&] { return os::posix_system({.log_sink = sink.get(), .name = "data"}); });
  train::WorkerProgram worker;
  const auto given = program.data(cache);  // once: workers that are forked from here share it
  if (!given.ok()) return fail(argv[0], given.error());
  const std::shared_ptr<const Dataset>& data = *given;
  std::shared_ptr<const Dataset> test;
  if (program.test) {
    const auto held_out = program.test(cache);
    if (!held_out.ok()) return fail(argv[0], held_out.error());
    test = *held_out;
  }
  const bool is_stream = data->stream() != nullptr;
  worker.facts = {{"batch", program.batch},
                  {"epochs", program.epochs},
                  {"batch_policy", model::name(program.batch_policy)},
                  {"lr_rule", model::name(program.lr_rule)},
                  {"warmup_samples", program.warmup_samples},
                  {"lars", true}};
  model::write_samples(worker.facts, is_stream ? model::SampleCount::unknown() : data->size());
  const Blas blas = loaded_blas();
  const auto numbers = fingerprint(blas);  // once, like the data
  if (!numbers.ok()) return fail(argv[0], numbers.error());
  worker.facts["fingerprint"] = *numbers;
  if (const std::string warning = blas_warning(blas); !warning.empty()) {
    worker.facts["warnings"] = Json::array({warning});
  }
  if (program.batch_max) worker.facts["batch_max"] = *program.batch_max;
  if (program.micro_batch) worker.facts["micro_batch"] = *program.micro_batch;
  if (program.logical_workers) worker.facts["logical_workers"] = *program.logical_workers;
  worker.make = [&] { return TorchTrainee::make(program, data, test); };
  return train::worker_main(worker, variable(train::kRoleVariable), parent);
}

}  // namespace edl::torch
