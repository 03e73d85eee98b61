// The gradients of one part, on their way from a framework into the sums. What comes is multiplied
// by its micro batch's share of the step; when a part has several of those, they are added in the
// part's own sums, in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edl/train/trainee.h"

namespace edl::train {

// Where the gradient of a parameter lies in its segment.
struct GradientPlace {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::size_t flag = 0;
};

// A segment of gradients of one type, in ascending order.
struct GradientSegment {
  collective::Element element = collective::Element::kF32;
  std::uint64_t bytes = 0;  // of the segment, with the gaps
  std::vector<GradientPlace> places{};
};

class PartGradients {
 public:
  // `touched`, by flag: whether a gradient came. All zero to begin with.
  PartGradients(std::span<const GradientSegment> segments, std::span<std::int64_t> touched,
                const Part& part, const PartRoom& room);

  void begin_micro_batch(std::uint64_t samples);
  // Of the i-th parameter in a segment: all of it, once for each micro batch. Its share is not
  // looked at.
  void take(std::size_t segment, std::size_t i, GradientPiece gradient);
  // What did not come is zero.
  void finish();

 private:
  bool streams() const { return is_one_ && room_.gradients != nullptr; }
  void tell_taken(std::size_t segment);
  void give_zeros(std::size_t segment, const GradientPlace& place);

  const std::span<const GradientSegment> segments_;
  const std::span<std::int64_t> touched_;
  const Part& part_;
  const PartRoom& room_;
  const bool is_one_;                     // micro batch
  std::vector<std::size_t> first_taken_;  // by segment: from this tensor on
  std::vector<std::uint64_t> said_;       // by segment: from this byte on
  float share_ = 1;
};

}  // namespace edl::train
