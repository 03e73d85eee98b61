#include "edl/collective/all_reduce.h"

#include <gtest/gtest.h>

#include "tests/world/all_reduce_crowd.h"

namespace edl::collective {
namespace {

using Parts = std::function<std::uint32_t(Step)>;

// Every step of every member must be the naive sum. Answers the digests.
std::vector<model::Digest> expect_right(Crowd& crowd, const model::View& view, const Parts& parts,
                                        int steps) {
  crowd.enter(view, parts, steps);
  EXPECT_TRUE(crowd.run(view));
  for (int i = 0; i < steps; ++i) {
    const Step step(view.first_step.value() + static_cast<std::uint64_t>(i));
    const Bytes right = rounded(mixed_layout(), node_sum(mixed_layout(), step, {0, parts(step)}));
    for (const Worker* worker : crowd.workers) {
      if (!view.rank_of(text("w", worker->number))) continue;
      EXPECT_EQ(worker->failure, "");
      const auto from_end = static_cast<std::size_t>(steps - i);
      const std::size_t at = worker->results.size() - from_end;
      EXPECT_TRUE(worker->results.at(at) == right)
          << "step " << step.value() << " of w" << worker->number;
      const auto& others = crowd.workers[0]->digests;
      EXPECT_TRUE(worker->digests.at(at) == others.at(others.size() - from_end));
    }
  }
  const auto& all = crowd.workers[0]->digests;
  return {all.end() - steps, all.end()};
}

TEST(AllReduce, gives_the_naive_sum_for_every_number_of_members) {
  const Parts parts = [](Step step) { return step == Step(2) ? 3u : 8u; };
  std::optional<std::vector<model::Digest>> first;
  for (std::uint32_t members = 1; members <= 8; ++members) {
    Crowd crowd(members);
    const auto digests = expect_right(crowd, view_of(1, members, 8), parts, 3);
    if (!first) first = digests;
    EXPECT_EQ(digests, *first) << members << " members";
  }
}

TEST(AllReduce, gives_the_naive_sum_whoever_carries_what) {
  Random random(6);
  for (int i = 0; i < 10; ++i) {
    const auto v = static_cast<std::uint32_t>(random.below(9) + 2);
    const auto members = static_cast<std::uint32_t>(random.below(std::min(v, 6u)) + 1);
    model::View view = view_of(1, members, v);
    for (model::Member& member : view.members) member.logical.clear();
    for (std::uint32_t one = 0; one < v; ++one) {
      view.members[random.below(members)].logical.emplace_back(one);
    }
    Crowd crowd(members, random.next());
    const std::uint64_t salt = random.next();
    expect_right(
        crowd, view,
        [=](Step step) { return static_cast<std::uint32_t>((step.value() ^ salt) % v + 1); }, 2);
  }
}

TEST(AllReduce, sums_in_rank_order_would_differ) {
  // Four members with scattered logical workers: each adds its own, then rank after rank.
  const Layout& layout = mixed_layout();
  std::optional<Bytes> by_rank;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    Bytes own = part_numbers(layout, Step(1), rank);
    add_numbers(layout, own, part_numbers(layout, Step(1), rank + 4));
    if (!by_rank) {
      by_rank = own;
    } else {
      add_numbers(layout, *by_rank, own);
    }
  }
  EXPECT_FALSE(rounded(layout, *by_rank) == rounded(layout, node_sum(layout, Step(1), {0, 8})));
}

// At any moment: nothing is told afterwards, and the next view gives the right bits.
TEST(AllReduce, can_be_left_at_any_moment) {
  int in_the_middle = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    Random random(seed);
    Crowd crowd(4, seed);
    const Parts parts = [](Step) { return 7u; };
    crowd.enter(view_of(1, 4, 7), parts, 100);
    crowd.world.run_for(random.between(Duration(0), Duration(40ms)));
    std::size_t results = 0;
    std::size_t firsts = 0;
    for (Worker* worker : crowd.workers) {
      worker->all_reduce.leave();
      results += worker->results.size();
      firsts += worker->firsts.size();
    }
    in_the_middle += firsts > results ? 1 : 0;
    crowd.world.run_for(random.between(Duration(0), Duration(300ms)));
    for (const Worker* worker : crowd.workers) {
      results -= worker->results.size();
      firsts -= worker->firsts.size();
    }
    EXPECT_EQ(results, 0u) << "told after it was left";
    EXPECT_EQ(firsts, 0u);
    // Three of them go on, one step further and with other work for each.
    model::View next = view_of(2, 3, 7);
    next.first_step = Step(50);
    expect_right(crowd, next, parts, 2);
  }
  EXPECT_GT(in_the_middle, 5);
}

TEST(AllReduce, what_is_not_expected_is_an_error_of_its_sender) {
  Crowd crowd(2);
  const model::View view = view_of(1, 2, 2);
  Worker& victim = *crowd.workers[0];
  Worker& liar = *crowd.workers[1];
  for (Worker* worker : crowd.workers) {
    worker->view = view;
    worker->connections.begin()->second->enter(view.generation);
  }
  victim.parts_of = [](Step) { return 2u; };
  victim.enter(view, victim.parts_of, 1);
  const Bytes junk(100);
  EXPECT_TRUE(liar.connections["w0"]
                  ->send_bulk({.type = kShare, .generation = view.generation, .first = 9}, junk)
                  .ok());
  crowd.world.run_for(1s);
  EXPECT_NE(victim.failure.find("rank 1 sent a share of [0, 1) of chunk 0 of step 9"),
            std::string::npos)
      << victim.failure;
  EXPECT_TRUE(liar.connections["w0"]
                  ->send_bulk({.type = 0x9000, .generation = view.generation}, junk)
                  .ok());
  crowd.world.run_for(1s);
  EXPECT_EQ(victim.failure, "rank 1 sent bulk data of type 36864");
  EXPECT_FALSE(victim.all_reduce.contribute({0, 2}, Buffer(ByteSpan(victim.sums[0]))).ok());
  EXPECT_FALSE(victim.all_reduce.contribute({0, 1}, Buffer(ByteSpan(victim.sums[0]))).ok())
      << "twice";
}

}  // namespace
}  // namespace edl::collective
