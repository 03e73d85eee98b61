// One worker as its agent sees it: the process, and frames to and from it. Its end is told once,
// when the process is gone and everything it said has been read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "edl/agent/replacement.h"
#include "edl/model/worker.h"
#include "edl/os/system.h"
#include "edl/train/parent_frame.h"
#include "edl/wire/frame_stream.h"

namespace edl::agent {

class WorkerProcess final : public wire::FrameReceiver {
 public:
  struct Callbacks {
    std::function<void(const std::string& id, train::ParentFrame type, const Json& body)> on_frame;
    std::function<void(const std::string& id, os::Exit exit)> on_end;
  };
  struct Options {
    std::string id;
    std::string job;
    std::string log;              // path of what it prints
    std::uint64_t oom_kills = 0;  // that were counted before it started
  };

  WorkerProcess(os::System& system, Options options, Callbacks callbacks);
  ~WorkerProcess() override;

  // It runs now.
  void attach(std::unique_ptr<os::Child> child);
  void send(train::ParentFrame type, const Json& body);
  // It leaves at the next boundary, and nobody replaces it.
  void ask_to_leave();
  void signal(os::Signal signal);
  // The process has ended.
  void exited(os::Exit exit);

  const std::string& id() const { return options_.id; }
  const std::string& log() const { return options_.log; }
  std::uint64_t oom_kills_before() const { return options_.oom_kills; }
  bool running() const { return child_ != nullptr; }
  int pid() const { return child_ ? child_->pid() : 0; }

  // What the worker told of itself.
  model::WorkerState state = model::WorkerState::kStarting;
  bool leaving = false;
  bool preempted = false;
  std::optional<FailedPart> failed_part{};

 private:
  void on_frame(wire::Frame frame) override;
  void on_piece(const wire::Piece&) override {}  // nothing is sent in bulk here
  void on_broken(const Error& error) override;
  void finish();

  os::System& system_;
  const Options options_;
  const Callbacks callbacks_;
  std::unique_ptr<os::Child> child_;
  std::unique_ptr<wire::FrameStream> frames_;
  std::optional<os::Exit> exit_;
  bool drained_ = false;
  os::Pending timer_;
};

}  // namespace edl::agent
