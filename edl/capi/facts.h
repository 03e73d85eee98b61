// What a program may know of its job while it trains: the view that computed the last step, and
// where training is. A worker that catches up with steps of others is no member of their view.
#pragma once

#include <optional>
#include <string>

#include "edl/capi/edl.h"
#include "edl/checkpoint/state.h"
#include "edl/train/trainee.h"

namespace edl::capi {

class Facts {
 public:
  void entered(const train::EnteredView& entered);
  // A part is about to be computed; before a worker's first step that is all it knows.
  void computing(const train::Part& part);
  void applied(const train::ReducedStep& step, const model::SampleCount& samples);
  void ended(bool is_finished) { end_ = is_finished ? EDL_FINISHED : EDL_STOPPED; }

  // Its strings live until the next fact comes.
  edl_facts plain() const;
  // Of the job; empty before the first view.
  std::string dir() const { return entered_ ? entered_->dir : std::string(); }
  // What a checkpoint of the present state says besides its tensors.
  checkpoint::State state() const;

 private:
  std::optional<train::EnteredView> entered_;  // last
  std::optional<train::EnteredView> now_;      // where the last step was computed, by us, too
  model::Crowd trained_by_;
  model::Position here_;
  std::uint64_t seed_ = 0;
  edl_end end_ = EDL_TRAINS;
};

}  // namespace edl::capi
