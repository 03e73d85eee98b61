#include "edl/train/part_gradients.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace edl::train {
namespace {

constexpr std::uint64_t kSaidBytes = 1 << 20;  // of gradients, at a time

}  // namespace

PartGradients::PartGradients(std::span<const GradientSegment> segments,
                             std::span<std::int64_t> touched, const Part& part,
                             const PartRoom& room)
    : segments_(segments),
      touched_(touched),
      part_(part),
      room_(room),
      is_one_(part.indices.size() <= part.micro) {
  for (const GradientSegment& segment : segments) {
    first_taken_.push_back(segment.places.size());
    said_.push_back(segment.bytes);
  }
}

void PartGradients::begin_micro_batch(std::uint64_t samples) {
  share_ = static_cast<float>(samples) / static_cast<float>(part_.step_samples);
}

void PartGradients::take(std::size_t segment, std::size_t i, GradientPiece gradient) {
  const GradientPlace& place = segments_[segment].places[i];
  EDL_CHECK(gradient.numbers.size() == place.bytes);
  gradient.share = share_;
  std::int64_t& touched = touched_[place.flag];
  if (streams()) {
    room_.gradients->take(segment, place.offset, std::move(gradient));
    touched = 1;
    return tell_taken(segment);
  }
  const ByteSpan into = room_.sums[segment].subspan(place.offset, place.bytes);
  const std::byte* const before = into.data();
  const std::size_t sums = touched == 0 ? 0 : 1;
  collective::fold(segments_[segment].element,
                   {.one = {gradient.numbers.data(), share_}, .sums = std::span(&before, sums)},
                   into);
  touched = 1;
}

// Gradients come from the last to the first, more or less. Said for a good piece at a time.
void PartGradients::tell_taken(std::size_t segment) {
  const std::vector<GradientPlace>& places = segments_[segment].places;
  std::size_t& first = first_taken_[segment];
  while (first > 0 && touched_[places[first - 1].flag] != 0) --first;
  if (first == places.size()) return;
  const std::uint64_t offset = places[first].offset;
  if (said_[segment] - offset < kSaidBytes) return;
  said_[segment] = offset;
  room_.gradients->taken_from(segment, offset);
}

void PartGradients::finish() {
  for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
    for (const GradientPlace& place : segments_[segment].places) {
      if (touched_[place.flag] == 0) give_zeros(segment, place);
    }
    if (!is_one_ && room_.gradients != nullptr) {
      room_.gradients->take(segment, 0, {room_.sums[segment]});
    }
  }
}

void PartGradients::give_zeros(std::size_t segment, const GradientPlace& place) {
  if (!streams()) {
    std::memset(room_.sums[segment].data() + place.offset, 0, place.bytes);
    return;
  }
  static constexpr std::array<std::byte, 4096> kZeros{};
  for (std::uint64_t at = 0; at < place.bytes; at += kZeros.size()) {
    const std::uint64_t bytes = std::min<std::uint64_t>(kZeros.size(), place.bytes - at);
    room_.gradients->take(segment, place.offset + at, {ConstBytes(kZeros).first(bytes)});
  }
}

}  // namespace edl::train
