#include "edl/model/tree.h"

#include <algorithm>
#include <bit>

namespace edl::model {
namespace {

std::uint32_t split_point(TreeNode node) {
  EDL_CHECK(node.size() >= 2);
  return node.lo + std::bit_floor(node.size() - 1);
}

void add_nodes(TreeNode node, std::vector<TreeNode>& nodes) {
  nodes.push_back(node);
  if (node.is_leaf()) return;
  add_nodes(node.left(), nodes);
  add_nodes(node.right(), nodes);
}

// `carried` holds exactly those that lie within `node`.
void add_cover(std::span<const LogicalWorker> carried, TreeNode node,
               std::vector<TreeNode>& nodes) {
  if (carried.empty()) return;
  if (carried.size() == node.size()) {
    nodes.push_back(node);
    return;
  }
  const LogicalWorker middle(node.right().lo);
  const auto split = std::lower_bound(carried.begin(), carried.end(), middle);
  const auto left = static_cast<std::size_t>(split - carried.begin());
  add_cover(carried.first(left), node.left(), nodes);
  add_cover(carried.subspan(left), node.right(), nodes);
}

}  // namespace

TreeNode TreeNode::left() const { return {lo, split_point(*this)}; }
TreeNode TreeNode::right() const { return {split_point(*this), hi}; }

std::vector<TreeNode> tree_nodes(std::uint32_t logical_workers) {
  EDL_CHECK(logical_workers >= 1);
  std::vector<TreeNode> nodes;
  nodes.reserve(2 * std::size_t{logical_workers} - 1);
  add_nodes({0, logical_workers}, nodes);
  return nodes;
}

std::vector<TreeNode> cover(std::span<const LogicalWorker> carried, std::uint32_t logical_workers) {
  EDL_CHECK(std::adjacent_find(carried.begin(), carried.end(),
                               [](auto a, auto b) { return a >= b; }) == carried.end());
  EDL_CHECK(carried.empty() || carried.back().value() < logical_workers);
  std::vector<TreeNode> nodes;
  add_cover(carried, {0, logical_workers}, nodes);
  return nodes;
}

}  // namespace edl::model
