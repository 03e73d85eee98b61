#include "edl/model/tree.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "edl/base/random.h"

namespace edl::model {
namespace {

using Nodes = std::vector<TreeNode>;
using Parts = std::vector<std::optional<float>>;
using Carried = std::vector<std::vector<LogicalWorker>>;  // of each process

Parts random_parts(Random& random, std::uint32_t count) {
  Parts parts;
  for (std::uint32_t v = 0; v < count; ++v) {
    parts.emplace_back(static_cast<float>(random.between(-1'000'000, 1'000'000)) * 1e-3f);
  }
  return parts;
}

Carried random_carriers(Random& random, std::uint32_t logical_workers, std::uint32_t processes) {
  Carried carried(processes);
  for (std::uint32_t v = 0; v < logical_workers; ++v) {
    carried[random.below(processes)].emplace_back(v);
  }
  return carried;
}

// What the processes do together: each adds its own subtrees, then the rest is added above them.
float sum_by_processes(const Parts& parts, const Carried& carried) {
  const auto logical_workers = static_cast<std::uint32_t>(parts.size());
  std::map<std::uint32_t, std::pair<TreeNode, float>> partial;  // by first leaf
  for (const auto& mine : carried) {
    for (const TreeNode node : cover(mine, logical_workers)) {
      partial[node.lo] = {node, *tree_sum<float>(parts, node)};
    }
  }
  const auto add = [&](auto& self, TreeNode node) -> float {
    const auto& [piece, sum] = partial.at(node.lo);
    if (piece == node) return sum;
    return self(self, node.left()) + self(self, node.right());
  };
  return add(add, {0, logical_workers});
}

// The control: each process adds what it carries, then the processes' sums are added.
float sum_in_rank_order(const Parts& parts, const Carried& carried) {
  float total = 0;
  for (const auto& mine : carried) {
    float sum = 0;
    for (const LogicalWorker v : mine) sum += *parts[v.value()];
    total += sum;
  }
  return total;
}

TEST(Tree, splits_at_the_largest_power_of_two_below_the_size) {
  EXPECT_EQ((TreeNode{0, 8}.left()), (TreeNode{0, 4}));
  EXPECT_EQ((TreeNode{0, 7}.left()), (TreeNode{0, 4}));
  EXPECT_EQ((TreeNode{4, 7}.right()), (TreeNode{6, 7}));
  EXPECT_EQ((TreeNode{0, 5}.right()), (TreeNode{4, 5}));
  EXPECT_EQ(tree_nodes(3), (Nodes{{0, 3}, {0, 2}, {0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(tree_nodes(1), (Nodes{{0, 1}}));
  EXPECT_EQ(tree_nodes(1000).size(), 1999u);
}

TEST(Tree, cover_is_the_largest_subtrees) {
  const auto cover_of = [](std::initializer_list<std::uint32_t> list, std::uint32_t of) {
    std::vector<LogicalWorker> carried;
    for (const std::uint32_t v : list) carried.emplace_back(v);
    return cover(carried, of);
  };
  EXPECT_EQ(cover_of({}, 8), Nodes{});
  EXPECT_EQ(cover_of({0, 1, 2, 3, 4, 5, 6, 7}, 8), (Nodes{{0, 8}}));
  EXPECT_EQ(cover_of({1, 2}, 8), (Nodes{{1, 2}, {2, 3}}));
  EXPECT_EQ(cover_of({2, 3, 4, 6, 7}, 8), (Nodes{{2, 4}, {4, 5}, {6, 8}}));
  EXPECT_EQ(cover_of({4, 5, 6}, 7), (Nodes{{4, 7}}));
}

TEST(Tree, sum_does_not_depend_on_who_carries_what) {
  Random random(1);
  int rank_order_differs = 0;
  for (int round = 0; round < 400; ++round) {
    const auto logical_workers = static_cast<std::uint32_t>(random.between(2, 33));
    const Parts parts = random_parts(random, logical_workers);
    const float expected = *tree_sum<float>(parts, {0, logical_workers});
    std::set<float> rank_order;
    for (int assignment = 0; assignment < 5; ++assignment) {
      const auto processes = static_cast<std::uint32_t>(random.between(1, logical_workers));
      const Carried carried = random_carriers(random, logical_workers, processes);
      EXPECT_EQ(sum_by_processes(parts, carried), expected);
      rank_order.insert(sum_in_rank_order(parts, carried));
    }
    rank_order_differs += rank_order.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(rank_order_differs, 200) << "the numbers are too tame to show anything";
}

TEST(Tree, empty_parts_leave_the_tree_of_the_others) {
  Random random(2);
  for (std::uint32_t logical_workers = 1; logical_workers <= 40; ++logical_workers) {
    for (std::uint32_t filled = 1; filled <= logical_workers; ++filled) {
      Parts parts = random_parts(random, filled);
      const auto alone = tree_sum<float>(parts, {0, filled});
      parts.resize(logical_workers);
      EXPECT_EQ(tree_sum<float>(parts, {0, logical_workers}), alone);
    }
  }
  EXPECT_EQ(tree_sum<float>(Parts(5), {0, 5}), std::nullopt);
}

}  // namespace
}  // namespace edl::model
