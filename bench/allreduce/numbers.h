// Numbers whose sum depends on the order, for the digests.
#pragma once

#include "edl/collective/elements.h"
#include "edl/model/tree.h"

namespace edl::bench {

inline constexpr std::uint64_t kDigestNumbers = 1'000'003;

inline Bytes part_numbers(std::uint64_t count, std::uint32_t v) {
  Bytes bytes(count * sizeof(float));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t mixed = (i * 2654435761u + v * 40503u) % 1'000'003;
    store_int(bytes.data() + i * sizeof(float), static_cast<float>(mixed) / 7);
  }
  return bytes;
}

inline void add_numbers(Bytes& left, const Bytes& right) {
  collective::add(collective::Element::kF32, left, right, left);
}

// The sum of a node, in the order of the tree.
inline Bytes node_numbers(std::uint64_t count, model::TreeNode node) {
  if (node.is_leaf()) return part_numbers(count, node.lo);
  Bytes sum = node_numbers(count, node.left());
  add_numbers(sum, node_numbers(count, node.right()));
  return sum;
}

}  // namespace edl::bench
