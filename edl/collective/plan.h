// Who makes which partial sum of a step, and how they are added: the canonical tree, cut where one
// member carries all that lies below. Pure: a function of who carries what and of the parts that
// have samples. Empty parts are the last ones, so the tree of a short step is the tree of the
// others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edl/model/tree.h"
#include "edl/model/view.h"

namespace edl::collective {

// The rank that carries each logical worker.
std::vector<model::Rank> carriers_of(const model::View& view);

class Plan {
 public:
  struct Node {
    model::TreeNode node;
    std::uint32_t parent = 0;  // of the root: itself
    std::uint32_t left = 0;    // of a leaf: itself
    std::uint32_t right = 0;
    model::Rank from;  // of a leaf: who makes it
    bool is_leaf() const { return left == right; }
  };
  static constexpr std::uint32_t kRoot = 0;

  Plan() = default;
  // The first `parts` of `carriers` have samples; at least one.
  Plan(std::span<const model::Rank> carriers, std::uint32_t parts);

  const std::vector<Node>& nodes() const { return nodes_; }  // each before its children
  std::uint32_t parts() const { return nodes_.empty() ? 0 : nodes_[kRoot].node.hi; }
  std::uint32_t sibling(std::uint32_t at) const;
  // From left to right.
  const std::vector<std::uint32_t>& leaves() const { return leaves_; }
  // The leaf that begins at `lo`, if one does.
  std::optional<std::uint32_t> leaf_at(std::uint32_t lo) const;
  bool has_leaf_of(model::Rank rank) const;

 private:
  std::uint32_t build(std::span<const model::Rank> carriers, model::TreeNode node,
                      std::uint32_t parent);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> leaves_;
};

}  // namespace edl::collective
