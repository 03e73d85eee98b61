// Whole jobs whose nodes stop reaching each other, for good.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/world/seeds.h"
#include "tests/world/train_world.h"

namespace edl::tests {
namespace {

// The nodes of a job, and which of them still reach each other, both ways.
class Links {
 public:
  Links(TrainWorld& world, Random& random) : world_(world), nodes_(world.options().nodes) {
    for (int cuts = static_cast<int>(random.between(1, nodes_)); cuts > 0; --cuts) {
      const auto a = static_cast<int>(random.below(static_cast<std::uint64_t>(nodes_)));
      const auto b = static_cast<int>(random.below(static_cast<std::uint64_t>(nodes_)));
      if (a == b) continue;
      cut_.insert({std::min(a, b), std::max(a, b)});
      world_.world().cut_link(world_.node_of(a), world_.node_of(b));
      if (random.once_in(2)) continue;  // one way is as bad as both
      world_.world().cut_link(world_.node_of(b), world_.node_of(a));
    }
  }
  bool are_connected(const std::set<int>& nodes) const {
    return std::none_of(cut_.begin(), cut_.end(), [&](const auto& pair) {
      return nodes.contains(pair.first) && nodes.contains(pair.second);
    });
  }
  std::size_t largest() const {
    std::size_t most = 0;
    for (int mask = 0; mask < 1 << nodes_; ++mask) {
      std::set<int> nodes;
      for (int i = 0; i < nodes_; ++i) {
        if ((mask >> i & 1) != 0) nodes.insert(i);
      }
      if (are_connected(nodes)) most = std::max(most, nodes.size());
    }
    return most;
  }
  std::set<int> nodes_of(const model::View& view) const {
    std::set<int> nodes;
    for (const model::Member& member : view.members) {
      for (int i = 0; i < nodes_; ++i) {
        if (member.host == world_.world().node_name(world_.node_of(i))) nodes.insert(i);
      }
    }
    return nodes;
  }

 private:
  TrainWorld& world_;
  const int nodes_;
  std::set<std::pair<int, int>> cut_;
};

TEST(TrainLinks, the_largest_connected_set_goes_on_and_views_do_not_follow_each_other_for_ever) {
  for_each_seed(6, [](std::uint64_t seed) {
    Random random(seed);
    TrainWorldOptions options{.seed = seed};
    options.nodes = static_cast<int>(random.between(3, 8));
    options.job = {.seed = seed, .logical_workers = 8, .steps = 1000000};
    options.max = options.wanted = static_cast<std::uint32_t>(options.nodes);
    options.scales = false;
    TrainWorld world(options);
    world.run_for(5s);
    ASSERT_EQ(world.violation(), "");
    ASSERT_EQ(world.checker().all_views().rbegin()->second.members.size(), options.max);
    const Links links(world, random);
    world.run_for(60s);
    const std::size_t views = world.checker().views();
    const model::Step stable = world.checker().stable();
    world.run_for(60s);
    EXPECT_EQ(world.violation(), "");
    const std::set<int> nodes = links.nodes_of(world.checker().all_views().rbegin()->second);
    EXPECT_TRUE(links.are_connected(nodes)) << world.alive_text();
    EXPECT_EQ(nodes.size(), links.largest());
    EXPECT_GT(world.checker().stable(), stable);
    EXPECT_LE(world.checker().views() - views, 3u) << "views in a minute";
  });
}

}  // namespace
}  // namespace edl::tests
