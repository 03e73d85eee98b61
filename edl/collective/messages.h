// What the members of a view send each other, as bulk frames. To reduce a step, which `first`
// tells:
//
//   type    name      second                            payload
//   0x8000  share     chunk << 32 | lo << 16 | hi - 1   the chunk's sums of the node [lo, hi)
//   0x8001  empty     0                                 none: the sender carries no samples
//   0x8002  reduced   chunk << 32                       the reduced chunk
//   0x8003  hashes    chunk << 32                       the hash of each of its blocks
//
// and for exchanges (exchange.h), which `first` counts in each view:
//
//   0x8010  part      1 gather, 2 broadcast, 3 barrier  the sender's bytes
#pragma once

#include <cstdint>

#include "edl/model/tree.h"
#include "edl/wire/connection.h"

namespace edl::collective {

inline constexpr std::uint32_t kShare = wire::kFirstBulkType;
inline constexpr std::uint32_t kEmptyShare = wire::kFirstBulkType + 1;
inline constexpr std::uint32_t kReduced = wire::kFirstBulkType + 2;
inline constexpr std::uint32_t kHashes = wire::kFirstBulkType + 3;

inline constexpr std::uint32_t kPart = wire::kFirstBulkType + 16;

// What the head of such a frame says.
struct ChunkHead {
  model::Step step;
  std::uint32_t chunk = 0;
  model::TreeNode node;  // of a share
  std::uint64_t bytes = 0;
};

static_assert(model::kLogicalWorkersMax <= 65536, "a node's ends have 16 bits each");

inline wire::MessageHead share_head(model::Generation generation, const ChunkHead& head) {
  const std::uint64_t node = std::uint64_t{head.node.lo} << 16 | (head.node.hi - 1);
  return {.type = kShare,
          .generation = generation,
          .first = head.step.value(),
          .second = std::uint64_t{head.chunk} << 32 | node};
}

inline ChunkHead chunk_head(const wire::Header& header) {
  return {.step = model::Step(header.first),
          .chunk = static_cast<std::uint32_t>(header.second >> 32),
          .node = {static_cast<std::uint32_t>(header.second >> 16 & 0xffff),
                   static_cast<std::uint32_t>(header.second & 0xffff) + 1},
          .bytes = header.payload_bytes};
}

}  // namespace edl::collective
