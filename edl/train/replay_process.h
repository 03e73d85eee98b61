// The process that replays: it gets one plan from its parent, and tells each step that it has
// computed, or one sentence about what is wrong.
#pragma once

#include <memory>
#include <optional>

#include "edl/train/executor.h"
#include "edl/train/replay.h"
#include "edl/wire/frame_stream.h"

namespace edl::train {

class ReplayProcess final : public wire::FrameReceiver {
 public:
  // `system` is of a process that has a parent.
  ReplayProcess(os::System& system, Trainee& trainee);

 private:
  void on_frame(wire::Frame frame) override;
  void on_piece(const wire::Piece&) override {}  // nothing is sent in bulk here
  void on_broken(const Error& error) override;
  void tell(const Json& body);
  void end(const Result<void>& done);

  os::System& system_;
  Trainee& trainee_;
  std::unique_ptr<wire::FrameStream> frames_;
  std::unique_ptr<Replay> replay_;
  os::Pending ending_;
  ThreadExecutor training_;  // last: it ends before what it uses
};

}  // namespace edl::train
