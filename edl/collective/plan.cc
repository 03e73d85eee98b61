#include "edl/collective/plan.h"

#include <algorithm>

namespace edl::collective {

using model::Rank;
using model::TreeNode;

std::vector<Rank> carriers_of(const model::View& view) {
  std::vector<Rank> carriers(view.logical_workers());
  for (std::uint32_t rank = 0; rank < view.members.size(); ++rank) {
    for (const model::LogicalWorker v : view.members[rank].logical) {
      carriers[v.value()] = Rank(rank);
    }
  }
  return carriers;
}

Plan::Plan(std::span<const Rank> carriers, std::uint32_t parts) {
  EDL_CHECK(parts >= 1 && parts <= carriers.size());
  build(carriers, {0, parts}, kRoot);
}

std::uint32_t Plan::build(std::span<const Rank> carriers, TreeNode node, std::uint32_t parent) {
  const auto at = static_cast<std::uint32_t>(nodes_.size());
  const Rank from = carriers[node.lo];
  nodes_.push_back({.node = node, .parent = parent, .left = at, .right = at, .from = from});
  const auto below = carriers.subspan(node.lo, node.size());
  if (std::all_of(below.begin(), below.end(), [&](Rank rank) { return rank == from; })) {
    leaves_.push_back(at);
    return at;
  }
  const std::uint32_t left = build(carriers, node.left(), at);
  const std::uint32_t right = build(carriers, node.right(), at);
  nodes_[at].left = left;
  nodes_[at].right = right;
  return at;
}

std::uint32_t Plan::sibling(std::uint32_t at) const {
  const Node& parent = nodes_[nodes_[at].parent];
  return parent.left == at ? parent.right : parent.left;
}

std::optional<std::uint32_t> Plan::leaf_at(std::uint32_t lo) const {
  const auto found =
      std::lower_bound(leaves_.begin(), leaves_.end(), lo,
                       [&](std::uint32_t at, std::uint32_t x) { return nodes_[at].node.lo < x; });
  if (found == leaves_.end() || nodes_[*found].node.lo != lo) return std::nullopt;
  return *found;
}

bool Plan::has_leaf_of(Rank rank) const {
  return std::any_of(leaves_.begin(), leaves_.end(),
                     [&](std::uint32_t at) { return nodes_[at].from == rank; });
}

}  // namespace edl::collective
