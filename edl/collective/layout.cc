#include "edl/collective/layout.h"

#include <algorithm>

namespace edl::collective {
namespace {

// A member owns something only where there is this much for it.
constexpr std::uint64_t kOwnedBytesMin = kBlockBytes;
// Chunks that an owner has at least, when they would not be too small: while one is added the next
// one arrives and the one before leaves.
constexpr std::uint64_t kChunksWanted = 4;

std::uint64_t sum_scale(Element element) {
  return element_bytes(sum_element(element)) / element_bytes(element);
}

}  // namespace

Layout::Layout(std::vector<Segment> segments) : segments_(std::move(segments)) {
  places_.reserve(segments_.size());
  for (const Segment& segment : segments_) {
    EDL_CHECK(segment.count <= kBlocksMax * kBlockBytes / element_bytes(segment.element));
    const std::uint64_t bytes = segment.count * element_bytes(segment.element);
    const std::uint64_t sums = bytes * sum_scale(segment.element);
    const std::uint64_t blocks = (bytes + kBlockBytes - 1) / kBlockBytes;
    EDL_CHECK(blocks_ + blocks <= kBlocksMax, "too many numbers for one layout");
    places_.push_back(
        {{reduced_bytes_, bytes}, {sum_bytes_, sums}, blocks_, static_cast<std::uint32_t>(blocks)});
    reduced_bytes_ += aligned(bytes);
    sum_bytes_ += aligned(sums);
    payload_bytes_ += sums;
    blocks_ += static_cast<std::uint32_t>(blocks);
  }
  EDL_CHECK(blocks_ > 0, "a layout without numbers");
}

Chunk Layout::run_of_blocks(std::size_t segment, std::uint32_t first, std::uint32_t count) const {
  const Place& place = places_[segment];
  const Element element = segments_[segment].element;
  const std::uint64_t begin = (first - place.first_block) * kBlockBytes;
  const std::uint64_t bytes = std::min(count * kBlockBytes, place.reduced.bytes - begin);
  const std::uint64_t scale = sum_scale(element);
  return {.segment = static_cast<std::uint32_t>(segment),
          .element = element,
          .reduced = {place.reduced.offset + begin, bytes},
          .sums = {place.sums.offset + begin * scale, bytes * scale},
          .first_block = first,
          .blocks = count,
          .owner = {}};
}

bool Layout::is_one_space() const {
  return std::ranges::all_of(segments_, [](const Segment& segment) {
    return sum_element(segment.element) == segment.element;
  });
}

std::vector<Chunk> Layout::chunks(std::uint32_t members) const {
  EDL_CHECK(members > 0);
  const std::uint64_t owners =
      std::clamp<std::uint64_t>(payload_bytes_ / kOwnedBytesMin, 1, members);
  const std::uint64_t target =
      std::clamp(payload_bytes_ / owners / kChunksWanted, kChunkBytesMin, kChunkBytesMax);
  std::vector<Chunk> chunks;
  std::uint64_t before = 0;  // bytes of sums before this block
  for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
    const Place& place = places_[segment];
    bool begin = true;
    for (std::uint32_t i = 0; i < place.blocks; ++i) {
      const Chunk block = run_of_blocks(segment, place.first_block + i, 1);
      // Who owns the middle of the block owns the block.
      const std::uint64_t middle = before + block.sums.bytes / 2;
      const auto rank = static_cast<std::uint64_t>(static_cast<unsigned __int128>(middle) * owners /
                                                   payload_bytes_);
      const model::Rank owner(static_cast<std::uint32_t>(rank));
      if (begin || chunks.back().owner != owner ||
          chunks.back().sums.bytes + block.sums.bytes > target) {
        chunks.push_back(block);
        chunks.back().owner = owner;
      } else {
        Chunk& last = chunks.back();
        last = run_of_blocks(segment, last.first_block, last.blocks + 1);
        last.owner = owner;
      }
      begin = false;
      before += block.sums.bytes;
    }
  }
  return chunks;
}

}  // namespace edl::collective
