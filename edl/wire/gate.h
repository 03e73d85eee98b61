// Which frames an end may see: those of its job and lane, and of the generation that it is in.
#pragma once

#include <deque>
#include <vector>

#include "edl/wire/frame.h"

namespace edl::wire {

class Gate {
 public:
  // `held_bytes_max` bounds what may wait for a later generation.
  Gate(JobTag job, model::Lane lane, std::uint64_t held_bytes_max = 64 << 20)
      : job_(job), lane_(lane), held_bytes_max_(held_bytes_max) {}

  enum class Verdict { kShow, kDrop, kHold };
  // What is to be done with a frame of which only the header came. To be held, it must be handed to
  // `admit` when it is whole; there is room for it. Errors as of `admit`.
  Result<Verdict> judge(const Header& header) const;
  // Whether a frame that was to be shown may be shown still.
  bool is_seen(const Header& header) const;
  void drop() { ++dropped_; }

  // Answers the frames that may be seen now, in order: this one or none. An error means that the
  // connection is not to be trusted any more.
  Result<std::vector<Frame>> admit(Frame frame);
  // Frames that waited for this generation may be seen now; those of older ones never.
  std::vector<Frame> enter(model::Generation generation);

  model::Generation generation() const { return generation_; }
  std::uint64_t dropped() const { return dropped_; }
  std::size_t held() const { return held_.size(); }

 private:
  JobTag job_;
  model::Lane lane_;
  std::uint64_t held_bytes_max_;
  model::Generation generation_;
  std::deque<Frame> held_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace edl::wire
