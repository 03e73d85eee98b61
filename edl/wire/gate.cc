#include "edl/wire/gate.h"

#include "edl/base/text.h"

namespace edl::wire {
namespace {

std::uint64_t frame_bytes(const Header& header) {
  return kHeaderBytes + header.body_bytes + header.payload_bytes;
}

}  // namespace

bool Gate::is_seen(const Header& header) const {
  return header.generation == model::Generation(0) || header.generation == generation_;
}

Result<Gate::Verdict> Gate::judge(const Header& header) const {
  if (header.job != job_) return Error{Code::kInvalid, "a frame of another job"};
  if (header.lane != lane_) {
    return Error{Code::kInvalid, text("a frame of lane ", header.lane, ", this is ", lane_)};
  }
  if (is_seen(header)) return Verdict::kShow;
  if (header.generation < generation_) return Verdict::kDrop;
  if (held_bytes_ + frame_bytes(header) > held_bytes_max_) {
    return Error{Code::kExhausted,
                 text("more than ", held_bytes_max_, " bytes wait for generation ",
                      header.generation, ", this is ", generation_)};
  }
  return Verdict::kHold;
}

Result<std::vector<Frame>> Gate::admit(Frame frame) {
  EDL_TRY(const Verdict verdict, judge(frame.header));
  std::vector<Frame> seen;
  if (verdict == Verdict::kShow) {
    seen.push_back(std::move(frame));
  } else if (verdict == Verdict::kDrop) {
    drop();
  } else {
    held_bytes_ += frame_bytes(frame.header);
    held_.push_back(std::move(frame));
  }
  return seen;
}

std::vector<Frame> Gate::enter(model::Generation generation) {
  EDL_CHECK(generation >= generation_, "generations only grow");
  generation_ = generation;
  std::vector<Frame> seen;
  std::deque<Frame> waiting;
  held_bytes_ = 0;
  for (Frame& frame : held_) {
    if (frame.header.generation == generation_) {
      seen.push_back(std::move(frame));
    } else if (frame.header.generation > generation_) {
      held_bytes_ += frame_bytes(frame.header);
      waiting.push_back(std::move(frame));
    } else {
      ++dropped_;
    }
  }
  held_ = std::move(waiting);
  return seen;
}

}  // namespace edl::wire
