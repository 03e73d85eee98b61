// In which order the partial sums of one chunk are added, as they arrive. The order of arrival does
// not matter: only what the canonical tree says is ever added. Plain state: it names nodes of the
// tree, others hold the numbers.
#pragma once

#include <span>
#include <vector>

#include "edl/base/result.h"
#include "edl/model/tree.h"

namespace edl::collective {

// The node `sum` is the left child plus the right one, in this order. Both are not needed after.
struct Addition {
  model::TreeNode left;
  model::TreeNode right;
  model::TreeNode sum;
  bool operator==(const Addition&) const = default;
};

class Reduction {
 public:
  // `parts`: how many logical workers have samples in this step; the others are left out.
  explicit Reduction(std::uint32_t parts);

  // A partial sum has come. Answers the additions that can be made now, in order. An error when it
  // is not a node of the tree, or came before, or lies in what came before.
  Result<std::vector<Addition>> add(model::TreeNode node);

  // The whole sum is there: the node [0, parts).
  bool done() const { return nodes_.front().state != State::kAbsent; }
  std::uint32_t parts() const { return nodes_.front().node.hi; }
  // Forgets everything that came.
  void reset();

 private:
  enum class State : std::uint8_t { kAbsent, kPresent, kUsed };
  struct Node {
    model::TreeNode node;
    std::uint32_t parent = 0;  // of the root: itself
    std::uint32_t left = 0;    // of a leaf: itself
    std::uint32_t right = 0;
    State state = State::kAbsent;
  };

  std::uint32_t build(model::TreeNode node, std::uint32_t parent);
  // Its place in `nodes_`; nothing when the tree has no such node.
  std::optional<std::uint32_t> find(model::TreeNode node) const;
  bool is_covered(std::uint32_t at) const;

  std::vector<Node> nodes_;  // each before its children
};

}  // namespace edl::collective
