// The canonical tree: the order in which the parts of a step are added, whoever carries them.
// Node [lo, hi) is the sum of its two children, split at lo + the largest power of two below hi -
// lo.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edl/base/check.h"
#include "edl/model/ids.h"

namespace edl::model {

struct TreeNode {
  std::uint32_t lo = 0;
  std::uint32_t hi = 0;

  std::uint32_t size() const { return hi - lo; }
  bool is_leaf() const { return size() == 1; }
  TreeNode left() const;
  TreeNode right() const;
  bool operator==(const TreeNode&) const = default;
};

// All 2V - 1 nodes, each before its children, left before right.
std::vector<TreeNode> tree_nodes(std::uint32_t logical_workers);

// The largest nodes that consist of `carried` alone, from left to right: the partial sums that its
// carrier can make without the others. `carried` is sorted, each below `logical_workers`.
std::vector<TreeNode> cover(std::span<const LogicalWorker> carried, std::uint32_t logical_workers);

// The sum of `parts` in the order of the tree; a node with one empty child is its other child.
// Naive, to compare with. Empty parts are always the last ones, and then this is the tree of the
// others: a step with fewer samples than logical workers needs no tree of its own.
template <class T>
std::optional<T> tree_sum(std::span<const std::optional<T>> parts, TreeNode node) {
  if (node.is_leaf()) return parts[node.lo];
  const std::optional<T> left = tree_sum(parts, node.left());
  const std::optional<T> right = tree_sum(parts, node.right());
  if (!left || !right) return left ? left : right;
  return static_cast<T>(*left + *right);
}

}  // namespace edl::model
