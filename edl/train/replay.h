// Computes steps of a job's past once more: all parts by one process, with the batches and the
// learning rates of the views in which they were trained. Nothing is written, nobody is asked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "edl/checkpoint/state.h"
#include "edl/membership/rules.h"
#include "edl/model/job.h"
#include "edl/model/view.h"
#include "edl/train/stepper.h"

namespace edl::train {

struct ReplayPlan {
  membership::Rules rules{};
  std::uint64_t seed = 0;
  std::optional<model::WeightsFile> init{};
  std::string checkpoint{};  // the directory to begin with; empty: with the first step
  // In order, one member each, each until the next one begins. None: only to see whether the
  // program can begin with that state.
  std::vector<model::View> views{};
  model::Step last{};  // ends after it
};

// What a frame of kind kReplay holds: the job's spec, V and the rest of the plan.
Json replay_json(const Json& spec, std::uint32_t logical_workers, const ReplayPlan& plan);
Result<ReplayPlan> replay_plan_from(const Json& json);

// A past view as one process trains in it.
model::View alone_in(const model::View& view, model::Step first, model::Epoch epoch,
                     std::uint64_t position);

class Replay {
 public:
  struct Events {
    std::function<void(const model::StepRecordHeader&)> step;
    std::function<void(const Result<void>&)> ended;
  };
  Replay(os::System& system, Executor& executor, Trainee& trainee, ReplayPlan plan, Events events);

  void start();

 private:
  Result<checkpoint::State> load();
  void enter_next();
  void completed();

  os::System& system_;
  Executor& executor_;
  Trainee& trainee_;
  const ReplayPlan plan_;
  const Events events_;
  Stepper stepper_;
  std::size_t next_view_ = 0;
};

}  // namespace edl::train
