#include "edl/collective/reduction.h"

#include <gtest/gtest.h>

#include <map>

#include "edl/base/random.h"

namespace edl::collective {
namespace {

using model::LogicalWorker;
using model::TreeNode;

struct ByPlace {
  bool operator()(const TreeNode& a, const TreeNode& b) const {
    return std::pair(a.lo, a.hi) < std::pair(b.lo, b.hi);
  }
};

// Any split of V logical workers among P members, scattered too.
std::vector<std::vector<LogicalWorker>> scatter(Random& random, std::uint32_t v, std::uint32_t p) {
  std::vector<std::vector<LogicalWorker>> carried(p);
  for (std::uint32_t i = 0; i < v; ++i) carried[random.below(p)].emplace_back(i);
  return carried;
}

float naive(const std::vector<float>& parts, TreeNode node) {
  if (node.is_leaf()) return parts[node.lo];
  return naive(parts, node.left()) + naive(parts, node.right());
}

// What the members send, in an order drawn by chance, reduced.
float reduced(Random& random, const std::vector<float>& parts,
              const std::vector<std::vector<LogicalWorker>>& carried) {
  const auto v = static_cast<std::uint32_t>(parts.size());
  std::vector<TreeNode> arriving;
  for (const auto& mine : carried) {
    for (const TreeNode& piece : model::cover(mine, v)) arriving.push_back(piece);
  }
  for (std::size_t i = arriving.size(); i > 1; --i) {
    std::swap(arriving[i - 1], arriving[random.below(i)]);
  }
  Reduction reduction(v);
  std::map<TreeNode, float, ByPlace> values;
  for (const TreeNode& piece : arriving) {
    EXPECT_FALSE(reduction.done());
    values[piece] = naive(parts, piece);
    const auto additions = reduction.add(piece);
    EXPECT_TRUE(additions.ok());
    for (const Addition& one : additions.value()) {
      values[one.sum] = values.at(one.left) + values.at(one.right);
    }
  }
  EXPECT_TRUE(reduction.done());
  return values.at({0, v});
}

TEST(Reduction, gives_the_same_bits_for_every_assignment_and_order_of_arrival) {
  Random random(3);
  int rank_order_differs = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto v = static_cast<std::uint32_t>(random.below(40) + 1);
    std::vector<float> parts(v);
    for (float& part : parts) part = static_cast<float>(random.between(-1'000'000, 1'000'000)) / 7;
    const float expected = naive(parts, {0, v});
    const auto carried = scatter(random, v, static_cast<std::uint32_t>(random.below(9) + 1));
    EXPECT_EQ(reduced(random, parts, carried), expected);
    float by_rank = 0;  // the control: each member's own sum, added in rank order
    for (const auto& mine : carried) {
      float sum = 0;
      for (const LogicalWorker one : mine) sum += parts[one.value()];
      by_rank += sum;
    }
    rank_order_differs += by_rank != expected ? 1 : 0;
  }
  EXPECT_GT(rank_order_differs, 500);
}

TEST(Reduction, what_came_already_is_refused) {
  Reduction reduction(8);
  EXPECT_TRUE(reduction.add({0, 4}).ok());
  EXPECT_EQ(reduction.add({0, 4}).error().code, Code::kConflict);
  EXPECT_EQ(reduction.add({2, 4}).error().code, Code::kConflict);
  EXPECT_EQ(reduction.add({0, 8}).error().code, Code::kConflict);
  EXPECT_TRUE(reduction.add({4, 6}).ok());
  EXPECT_TRUE(reduction.add({6, 8}).ok());
  EXPECT_TRUE(reduction.done());
  EXPECT_EQ(reduction.add({7, 8}).error().code, Code::kConflict);
  reduction.reset();
  EXPECT_FALSE(reduction.done());
  EXPECT_TRUE(reduction.add({0, 8}).ok());
  EXPECT_TRUE(reduction.done());
}

TEST(Reduction, what_is_no_node_is_refused) {
  Reduction reduction(8);
  for (const TreeNode& node : {TreeNode{1, 3}, TreeNode{0, 3}, TreeNode{3, 3}, TreeNode{5, 4},
                               TreeNode{0, 9}, TreeNode{8, 9}, TreeNode{7, 9}}) {
    EXPECT_EQ(reduction.add(node).error().code, Code::kInvalid) << node.lo << " " << node.hi;
  }
}

}  // namespace
}  // namespace edl::collective
