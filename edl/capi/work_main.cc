// The process of a worker whose program is written in another language: what its own `main` comes
// down to.
#include <cstdio>
#include <cstdlib>

#include "edl/capi/handles.h"
#include "edl/os/posix/system.h"
#include "edl/train/parent_frame.h"
#include "edl/train/worker_main.h"

using edl::Code;
using edl::Error;
using edl::Result;
using edl::capi::last_message;

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
  edl::train::BegunWorker worker = *std::exchange(trainee->begun, std::nullopt);
  return edl::train::run_worker(std::move(worker));
}
