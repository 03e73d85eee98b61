#include "edl/wire/gate.h"

#include "edl/base/text.h"

namespace edl::wire {
namespace {

std::uint64_t bytes_of_frame(const Frame& frame) {
  return kHeaderBytes + frame.header.body_bytes + frame.header.payload_bytes;
}

}  // namespace

Result<std::vector<Frame>> Gate::admit(Frame frame) {
  if (frame.header.job != job_) return Error{Code::kInvalid, "a frame of another job"};
  if (frame.header.lane != lane_) {
    return Error{Code::kInvalid, text("a frame of lane ", frame.header.lane, ", this is ", lane_)};
  }
  std::vector<Frame> seen;
  const model::Generation generation = frame.header.generation;
  if (generation == model::Generation(0) || generation == generation_) {
    seen.push_back(std::move(frame));
  } else if (generation < generation_) {
    ++dropped_;
  } else {
    held_bytes_ += bytes_of_frame(frame);
    if (held_bytes_ > held_bytes_max_) {
      return Error{Code::kExhausted,
                   text("more than ", held_bytes_max_, " bytes wait for generation ", generation,
                        ", this is ", generation_)};
    }
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
      held_bytes_ += bytes_of_frame(frame);
      waiting.push_back(std::move(frame));
    } else {
      ++dropped_;
    }
  }
  held_ = std::move(waiting);
  return seen;
}

}  // namespace edl::wire
