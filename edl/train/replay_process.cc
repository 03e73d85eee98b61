#include "edl/train/replay_process.h"

#include "edl/os/borrowed_stream.h"
#include "edl/train/parent_frame.h"

namespace edl::train {
namespace {

constexpr Duration kSayGoodbye = 100ms;  // for what is on its way to the parent
constexpr std::uint64_t kQueueBytesMax = std::uint64_t{64} << 20;

}  // namespace

ReplayProcess::ReplayProcess(os::System& system, Trainee& trainee)
    : system_(system),
      trainee_(trainee),
      frames_(std::make_unique<wire::FrameStream>(
          std::make_unique<os::BorrowedStream>(*system.processes().parent()), wire::Limits())),
      training_(system, "edl-train") {
  frames_->set_receiver(this);
}

void ReplayProcess::on_frame(wire::Frame frame) {
  if (static_cast<ParentFrame>(frame.header.type) != ParentFrame::kReplay || replay_) return;
  auto plan = replay_plan_from(frame.body);
  if (!plan.ok()) return end(plan.error());
  replay_ = std::make_unique<Replay>(
      system_, training_, trainee_, std::move(plan).value(),
      Replay::Events{
          .step =
              [this](const model::StepRecordHeader& record) {
                tell({{"step", record.step}, {"digest", model::digest_json(record.digest)}});
              },
          .ended = [this](const Result<void>& done) { end(done); }});
  replay_->start();
}

void ReplayProcess::on_broken(const Error&) { system_.finish(1); }

void ReplayProcess::tell(const Json& body) {
  wire::Header header;
  header.type = static_cast<std::uint32_t>(ParentFrame::kReplayed);
  const auto sent = frames_->send(header, body, {}, kQueueBytesMax);
  if (!sent.ok()) system_.finish(1);
}

void ReplayProcess::end(const Result<void>& done) {
  // Who asked is told why, so the exit code has nothing to add.
  if (!done.ok()) tell({{"error", done.error().message}});
  ending_ = system_.after(kSayGoodbye, [this] { system_.finish(0); });
}

}  // namespace edl::train
