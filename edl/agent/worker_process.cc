#include "edl/agent/worker_process.h"

#include "edl/base/text.h"
#include "edl/os/borrowed_stream.h"

namespace edl::agent {
namespace {

constexpr std::uint64_t kQueueBytesMax = 16 << 20;
constexpr wire::Limits kLimits{1 << 20, 0};
// A grandchild may hold the stream open; then its end never comes.
constexpr Duration kDrainLimit = 1s;

}  // namespace

WorkerProcess::WorkerProcess(os::System& system, Options options, Callbacks callbacks)
    : system_(system), options_(std::move(options)), callbacks_(std::move(callbacks)) {}

WorkerProcess::~WorkerProcess() {
  frames_.reset();  // before the child, whose stream it reads
  child_.reset();
}

void WorkerProcess::attach(std::unique_ptr<os::Child> child) {
  child_ = std::move(child);
  frames_ = std::make_unique<wire::FrameStream>(
      std::make_unique<os::BorrowedStream>(child_->stream()), kLimits);
  frames_->set_receiver(this);
}

// What cannot be sent is not needed: the worker is gone or does not listen, and its end comes.
void WorkerProcess::send(train::ParentFrame type, const Json& body) {
  if (!frames_) return;
  wire::Header header;
  header.job = wire::job_tag(options_.job);
  header.type = static_cast<std::uint32_t>(type);
  const auto sent = frames_->send(header, body, {}, kQueueBytesMax);
  if (!sent.ok()) {
    system_.log().warn("frame not sent", {{"worker", id()}, {"why", sent.error().message}});
  }
}

void WorkerProcess::ask_to_leave() {
  leaving = true;
  send(train::ParentFrame::kLeave, {{"cause", "scale"}});
}

void WorkerProcess::signal(os::Signal signal) {
  if (child_) (void)child_->signal(signal);
}

void WorkerProcess::on_frame(wire::Frame frame) {
  if (frame.header.kind != wire::Kind::kMessage) return;
  callbacks_.on_frame(id(), static_cast<train::ParentFrame>(frame.header.type), frame.body);
}

void WorkerProcess::on_broken(const Error& error) {
  system_.log().debug("stream ended", {{"worker", id()}, {"why", error.message}});
  drained_ = true;
  if (exit_) finish();
}

void WorkerProcess::exited(os::Exit exit) {
  exit_ = exit;
  if (drained_ || !frames_) return finish();
  timer_ = system_.after(kDrainLimit, [this] { finish(); });
}

// From a task of its own: who is told destroys us.
void WorkerProcess::finish() {
  timer_ = system_.after(Duration::zero(), [this] { callbacks_.on_end(id(), *exit_); });
}

}  // namespace edl::agent
