// Where the numbers of a step lie: one flat space of bytes for what is reduced, one for partial
// sums (where the small types are float32), and how both are cut.
//
// A *block* is at most 64 KiB of reduced bytes and never crosses a segment: what the digest is made
// of, so it depends on the segments alone. A *chunk* is a run of blocks of one segment that one
// member owns: what is sent at a time. All of it is a function of the segments and the number of
// members, so that every member finds the same. Put tensors of one type into one segment: each
// segment has chunks of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "edl/collective/elements.h"
#include "edl/model/ids.h"

namespace edl::collective {

inline constexpr std::uint64_t kAlignment = 64;  // of segments, in both spaces
// Bytes with the gap behind them.
constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
inline constexpr std::uint64_t kBlockBytes = 64 << 10;
inline constexpr std::size_t kBlockHashBytes = 16;
inline constexpr std::uint64_t kChunkBytesMax = 1 << 20;    // in either space
inline constexpr std::uint64_t kChunkBytesMin = 256 << 10;  // where an owner has that much

struct Segment {
  Element element = Element::kF32;
  std::uint64_t count = 0;
};

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Range&) const = default;
};

struct Chunk {
  std::uint32_t segment = 0;
  Element element = Element::kF32;
  Range reduced;
  Range sums;
  std::uint32_t first_block = 0;  // of all blocks of the layout
  std::uint32_t blocks = 0;
  model::Rank owner;
  bool operator==(const Chunk&) const = default;
};

class Layout {
 public:
  // At least one number in all; at most kBlocksMax blocks.
  explicit Layout(std::vector<Segment> segments);
  static constexpr std::uint64_t kBlocksMax = 1 << 26;  // 4 TiB

  const std::vector<Segment>& segments() const { return segments_; }
  Range reduced(std::size_t segment) const { return places_[segment].reduced; }
  Range sums(std::size_t segment) const { return places_[segment].sums; }
  // What a buffer of each space needs.
  std::uint64_t reduced_bytes() const { return reduced_bytes_; }
  std::uint64_t sum_bytes() const { return sum_bytes_; }
  std::uint32_t blocks() const { return blocks_; }
  // Whether a sum of all parts is what is reduced, byte for byte: no type is rounded.
  bool is_one_space() const;

  // In the order of the space. Owners have about equal bytes, in runs, by rank; where there is
  // little, only the first ranks own.
  std::vector<Chunk> chunks(std::uint32_t members) const;

 private:
  struct Place {
    Range reduced;
    Range sums;
    std::uint32_t first_block = 0;
    std::uint32_t blocks = 0;
  };
  Chunk run_of_blocks(std::size_t segment, std::uint32_t first, std::uint32_t count) const;

  std::vector<Segment> segments_;
  std::vector<Place> places_;
  std::uint64_t reduced_bytes_ = 0;
  std::uint64_t sum_bytes_ = 0;
  std::uint64_t payload_bytes_ = 0;  // in the space of sums, without the gaps
  std::uint32_t blocks_ = 0;
};

}  // namespace edl::collective
