// What stands behind the handles of edl.h.
#pragma once

#include <memory>
#include <optional>

#include "edl/capi/foreign_trainee.h"
#include "edl/checkpoint/state_copy.h"
#include "edl/train/part_gradients.h"
#include "edl/train/worker_main.h"

// A part that a program is computing.
struct edl_computing {
  edl::train::PartGradients gradients;
  const edl::capi::ForeignTrainee& trainee;
};

struct edl_trainee {
  std::unique_ptr<edl::capi::ForeignTrainee> foreign;  // null once it has begun
  edl::capi::ForeignTrainee* trained = nullptr;        // the same, wherever it is
  std::optional<edl::train::BegunWorker> begun{};
  bool has_worked = false;
};

struct edl_copy {
  edl::checkpoint::StateCopy state{};
  std::string hash{};
};

namespace edl::capi {

// What edl_last_message tells on this thread.
std::string& last_message();
// The result as the program sees it; its sentence is the last message then.
edl_code told(const Result<void>& result);

}  // namespace edl::capi
