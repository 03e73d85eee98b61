#include "edl/collective/reduction.h"

#include "edl/base/text.h"

namespace edl::collective {

using model::TreeNode;

Reduction::Reduction(std::uint32_t parts) {
  EDL_CHECK(parts > 0);
  nodes_.reserve(2 * static_cast<std::size_t>(parts) - 1);
  build({0, parts}, 0);
}

std::uint32_t Reduction::build(TreeNode node, std::uint32_t parent) {
  const auto at = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.node = node, .parent = parent, .left = at, .right = at});
  if (!node.is_leaf()) {
    const std::uint32_t left = build(node.left(), at);
    const std::uint32_t right = build(node.right(), at);
    nodes_[at].left = left;
    nodes_[at].right = right;
  }
  return at;
}

std::optional<std::uint32_t> Reduction::find(TreeNode node) const {
  std::uint32_t at = 0;
  while (nodes_[at].node != node) {
    if (nodes_[at].node.is_leaf() || node.lo >= node.hi) return std::nullopt;
    const std::uint32_t left = nodes_[at].left;
    at = node.lo < nodes_[left].node.hi ? left : nodes_[at].right;
    if (node.lo < nodes_[at].node.lo || node.hi > nodes_[at].node.hi) return std::nullopt;
  }
  return at;
}

// It, something above it or something below it came before.
bool Reduction::is_covered(std::uint32_t at) const {
  for (std::uint32_t up = at;; up = nodes_[up].parent) {
    if (nodes_[up].state != State::kAbsent) return true;
    if (up == 0) break;
  }
  // Below: its nodes are the next 2 * size - 1.
  for (std::uint32_t i = at; i < at + 2 * nodes_[at].node.size() - 1; ++i) {
    if (nodes_[i].state != State::kAbsent) return true;
  }
  return false;
}

Result<std::vector<Addition>> Reduction::add(TreeNode node) {
  const auto found = find(node);
  if (!found) {
    return Error{Code::kInvalid, text("[", node.lo, ", ", node.hi, ") is no node of the tree of ",
                                      parts(), " parts")};
  }
  if (is_covered(*found)) {
    return Error{Code::kConflict, text("the sum of [", node.lo, ", ", node.hi,
                                       "), or of a part of it, came before")};
  }
  std::vector<Addition> additions;
  std::uint32_t at = *found;
  nodes_[at].state = State::kPresent;
  while (at != 0) {
    Node& parent = nodes_[nodes_[at].parent];
    Node& left = nodes_[parent.left];
    Node& right = nodes_[parent.right];
    if (left.state != State::kPresent || right.state != State::kPresent) break;
    left.state = right.state = State::kUsed;
    parent.state = State::kPresent;
    additions.push_back({left.node, right.node, parent.node});
    at = nodes_[at].parent;
  }
  return additions;
}

void Reduction::reset() {
  for (Node& node : nodes_) node.state = State::kAbsent;
}

}  // namespace edl::collective
