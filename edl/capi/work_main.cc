// The process of a worker whose program is written in another language: what its own `main` comes
// down to, and what needs the machine.
#include <cstdio>
#include <cstdlib>

#include "edl/capi/handles.h"
#include "edl/checkpoint/writer.h"
#include "edl/os/posix/system.h"
#include "edl/train/parent_frame.h"
#include "edl/train/worker_main.h"

using edl::Code;
using edl::Error;
using edl::Result;
using edl::capi::last_message;
using edl::capi::told;

namespace {

constexpr int kToWork = -1;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int parent_descriptor() {
  return edl::train::parent_descriptor(variable(edl::os::kParentVariable));
}

}  // namespace

int edl_is_worker(void) { return parent_descriptor() >= 0 ? 1 : 0; }

int edl_begin(edl_trainee* trainee) {
  const auto refuse = [](const Error& error) {
    std::fprintf(stderr, "edl: %s\n", error.message.c_str());
    last_message() = error.message;
    return 1;
  };
  const int parent = parent_descriptor();
  if (parent < 0) {
    return refuse({Code::kInvalid, "no agent has started this program; start it with edl run"});
  }
  if (trainee == nullptr || !trainee->foreign) {
    return refuse({Code::kInvalid, "edl_begin needs a trainee that has not begun"});
  }
  if (const auto laid = trainee->foreign->lay_out(); !laid.ok()) return refuse(laid.error());
  const edl_calls calls = trainee->foreign->calls();
  void* const context = trainee->foreign->context();
  edl::train::WorkerProgram program;
  program.facts = trainee->foreign->description().facts;
  program.make = [&]() -> Result<std::unique_ptr<edl::train::Trainee>> {
    return std::unique_ptr<edl::train::Trainee>(std::move(trainee->foreign));
  };
  if (calls.fork != nullptr) program.fork = [=] { return calls.fork(context); };
  auto begun = edl::train::begin_worker(program, variable(edl::train::kRoleVariable), parent);
  if (const int* const code = std::get_if<int>(&begun)) return *code;
  trainee->begun = std::get<edl::train::BegunWorker>(std::move(begun));
  return kToWork;
}

int edl_work(edl_trainee* trainee) {
  if (trainee == nullptr || !trainee->begun) {
    const int code = edl_begin(trainee);
    if (code != kToWork) return code;
  }
  if (std::exchange(trainee->has_worked, true)) {
    last_message() = "edl_work was called before";
    return 1;
  }
  return edl::train::run_worker(*trainee->begun);
}

edl_code edl_copy_write(const edl_copy* copy, const char* dir) {
  if (copy == nullptr || dir == nullptr) {
    return told(Error{Code::kInvalid, "edl_copy_write needs a copy and a directory"});
  }
  const auto sink = edl::stderr_log_sink(edl::Level::kWarn);
  const auto system = edl::os::posix_system({.log_sink = sink.get()});
  const auto written = edl::checkpoint::write_checkpoint(
      system->disk(), copy->state, {.job_dir = dir, .now = [] { return edl::Time(); }});
  return written.ok() ? EDL_OK : told(written.error());
}
