#include "edl/collective/schedule.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "edl/base/random.h"

namespace edl::collective {
namespace {

using model::LogicalWorker;
using model::Rank;
using model::Step;
using model::TreeNode;

// Any split of V logical workers among P members, scattered too; some may carry nothing.
model::View random_view(Random& random, std::uint32_t v, std::uint32_t p) {
  model::View view;
  view.generation = model::Generation(1);
  view.first_step = Step(random.below(100) + 1);
  view.members.resize(p);
  const bool in_runs = random.once_in(2);
  for (std::uint32_t i = 0; i < v; ++i) {
    const std::uint64_t rank = in_runs ? std::uint64_t{i} * p / v : random.below(p);
    view.members[rank].logical.emplace_back(i);
  }
  return view;
}

struct Message {
  std::uint32_t type = 0;
  ChunkHead head;
  float value = 0;
};

// One number a chunk, so that what is added in which order can be seen.
struct Member {
  Member(const model::View& view, Rank own, const std::vector<Chunk>& chunks)
      : schedule(view, own, chunks), rank(own), slots(chunks.size()), reduced(chunks.size()) {}
  Schedule schedule;
  Rank rank;
  std::vector<std::map<std::uint32_t, float>> slots;
  std::vector<float> reduced;
  std::vector<std::vector<float>> contributed;                      // by own node and chunk
  std::set<std::pair<std::uint32_t, std::uint32_t>> to_contribute;  // nodes, and their chunks
  std::map<std::uint32_t, Incoming> coming;                         // by rank
  int steps_done = 0;
  bool told = true;
};

class Crowd {
 public:
  Crowd(std::uint64_t seed, const model::View& view, const std::vector<Chunk>& chunks)
      : random_(seed), view_(view), chunks_(chunks) {
    const auto p = static_cast<std::uint32_t>(view.members.size());
    for (std::uint32_t i = 0; i < p; ++i) members_.emplace_back(view, Rank(i), chunks);
    ways_.resize(std::size_t{p} * p);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const auto v = view_.logical_workers();
      parts_.push_back(random_.once_in(3) ? static_cast<std::uint32_t>(random_.below(v)) + 1 : v);
      values_.emplace_back(chunks_.size(), std::vector<std::optional<float>>(v));
      for (auto& chunk : values_.back()) {
        for (std::uint32_t part = 0; part < parts_.back(); ++part) {
          chunk[part] = static_cast<float>(random_.between(-1'000'000, 1'000'000)) / 7;
        }
      }
    }
    while (act()) {
    }
    for (const Member& member : members_) EXPECT_EQ(member.steps_done, steps);
  }
  int rank_order_differs = 0;
  int early = 0;
  int folded = 0;

 private:
  float expected(int step, std::uint32_t chunk, TreeNode node) const {
    return *model::tree_sum<float>(values_[step][chunk], node);
  }
  std::deque<Message>& way(Rank from, Rank to) {
    return ways_[from.value() * members_.size() + to.value()];
  }

  // Does one thing drawn by chance; false when there is nothing to do.
  bool act() {
    std::vector<std::function<void()>> choices;
    for (Member& member : members_) {
      const int step = member.steps_done;
      if (member.told && step < static_cast<int>(parts_.size())) {
        choices.emplace_back([&] { begin(member); });
      }
      for (const auto& [node, chunk] : member.to_contribute) {
        choices.emplace_back([&member, node, chunk, this] { contribute(member, node, chunk); });
      }
      for (Member& from : members_) {
        if (!way(from.rank, member.rank).empty()) {
          choices.emplace_back([&] { deliver(from.rank, member); });
        }
      }
    }
    if (choices.empty()) return false;
    choices[random_.below(choices.size())]();
    return true;
  }

  void begin(Member& member) {
    member.told = false;
    const Step step(view_.first_step.value() + static_cast<std::uint64_t>(member.steps_done));
    const auto wrong = member.schedule.begin(step, parts_[member.steps_done]);
    ASSERT_FALSE(wrong) << wrong->error.message;
    const std::size_t nodes = member.schedule.own_nodes().size();
    member.contributed.assign(nodes, std::vector<float>(chunks_.size()));
    for (std::uint32_t i = 0; i < nodes; ++i) {
      for (std::uint32_t c = 0; c < chunks_.size(); ++c) member.to_contribute.emplace(i, c);
    }
    work(member);
    if (!member.schedule.own_nodes().empty()) return;
    for (Member& to : members_) {
      if (to.rank == member.rank || !member.schedule.is_owner(to.rank)) continue;
      way(member.rank, to.rank).push_back({kEmptyShare, {.step = step, .node = {}}, 0});
    }
  }

  // One chunk of one node: they are computed in any order.
  void contribute(Member& member, std::uint32_t node, std::uint32_t c) {
    member.to_contribute.erase({node, c});
    const TreeNode what = member.schedule.own_nodes()[node];
    const float value = expected(member.steps_done, c, what);
    member.contributed[node][c] = value;
    if (chunks_[c].owner != member.rank) {
      way(member.rank, chunks_[c].owner)
          .push_back({kShare, {member.schedule.step(), c, what, chunks_[c].sums.bytes}, value});
      return;
    }
    member.schedule.contribute(node, c);
    work(member);
  }

  void deliver(Rank from, Member& to) {
    const Message message = way(from, to.rank).front();
    const std::uint32_t chunk = message.head.chunk;
    if (message.type == kShare) return deliver_share(from, to);
    way(from, to.rank).pop_front();
    if (message.type == kEmptyShare) {
      ASSERT_TRUE(to.schedule.empty_share(from, message.head.step).ok());
      return work(to);
    }
    ASSERT_TRUE(to.schedule.reduced_begins(from, message.head).ok());
    to.reduced[chunk] = message.value;
    to.schedule.reduced_ends(chunk);
    ChunkHead hashes = message.head;
    hashes.bytes = chunks_[chunk].blocks * kBlockHashBytes;
    ASSERT_TRUE(to.schedule.hashes_begin(from, hashes).ok());
    to.schedule.hashes_end(chunk);
    look(to);
  }

  // In two acts: others may come between its beginning and its end.
  void deliver_share(Rank from, Member& to) {
    const Message message = way(from, to.rank).front();
    if (!to.coming.contains(from.value())) {
      early += to.told ? 1 : 0;
      auto share = to.schedule.share_begins(from, message.head);
      ASSERT_TRUE(share.ok()) << share.error().message;
      to.coming[from.value()] = *share;
      return;
    }
    way(from, to.rank).pop_front();
    const Incoming share = to.coming[from.value()];
    to.coming.erase(from.value());
    to.slots[share.chunk][share.slot] = message.value;
    if (share.work) {
      ++folded;
      Work whole = *share.work;
      const Place self{Place::Kind::kSlot, share.slot};
      (whole.left == Place() ? whole.left : whole.right) = self;
      add(to, whole);
    }
    to.schedule.share_ends(share);
    if (share.work && share.work->is_last) return finish(to, share.chunk);
    work(to);
  }

  static float value(const Member& member, std::uint32_t chunk, Place place) {
    if (place.kind == Place::Kind::kOwn) return member.contributed[place.index][chunk];
    return member.slots[chunk].at(place.index);
  }

  static void add(Member& member, const Work& work) {
    float sum = value(member, work.chunk, work.left);
    if (work.right != Place()) sum += value(member, work.chunk, work.right);
    if (work.is_last) {
      member.reduced[work.chunk] = sum;
    } else {
      member.slots[work.chunk][work.sum.index] = sum;
    }
  }

  void work(Member& member) {
    const std::vector<Work> todo(member.schedule.work().begin(), member.schedule.work().end());
    for (const Work& one : todo) {
      add(member, one);
      if (one.is_last) finish(member, one.chunk);
    }
  }

  void finish(Member& member, std::uint32_t chunk) {
    for (Member& to : members_) {
      if (to.rank == member.rank) continue;
      // All that others have to say of this step was said: each has all of the step before.
      EXPECT_GE(to.steps_done, member.steps_done);
      const ChunkHead head{member.schedule.step(), chunk, {}, chunks_[chunk].reduced.bytes};
      way(member.rank, to.rank).push_back({kReduced, head, member.reduced[chunk]});
    }
    member.schedule.own_chunk_done(chunk);
    look(member);
  }

  void look(Member& member) {
    if (!member.schedule.all_reduced() || member.told) return;
    member.told = true;
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) {
      const float right = expected(member.steps_done, c, {0, view_.logical_workers()});
      EXPECT_EQ(member.reduced[c], right) << "step " << member.steps_done << " chunk " << c;
      float by_rank = 0;  // the control: each member's own sum, added in rank order
      for (const auto& one : view_.members) {
        float sum = 0;
        for (const LogicalWorker v : one.logical) {
          sum += values_[member.steps_done][c][v.value()].value_or(0);
        }
        by_rank += sum;
      }
      rank_order_differs += by_rank != right ? 1 : 0;
    }
    ++member.steps_done;
  }

  Random random_;
  const model::View view_;
  const std::vector<Chunk> chunks_;
  std::vector<Member> members_;
  std::vector<std::deque<Message>> ways_;
  std::vector<std::uint32_t> parts_;
  std::vector<std::vector<std::vector<std::optional<float>>>> values_;  // step, chunk, part
};

TEST(Schedule, gives_the_same_bits_for_every_assignment_and_order_of_arrival) {
  Random random(3);
  int rank_order_differs = 0;
  int early = 0;
  int folded = 0;
  for (int i = 0; i < 300; ++i) {
    const auto v = static_cast<std::uint32_t>(random.below(24) + 1);
    const auto p = static_cast<std::uint32_t>(random.below(std::min(v, 8u)) + 1);
    const Layout layout({{Element::kF32, random.below(300'000) + 1}});
    Crowd crowd(random.next(), random_view(random, v, p), layout.chunks(p));
    crowd.run(4);
    rank_order_differs += crowd.rank_order_differs;
    early += crowd.early;
    folded += crowd.folded;
  }
  EXPECT_GT(rank_order_differs, 1000);
  EXPECT_GT(early, 1000) << "shares of a step that had not begun";
  EXPECT_GT(folded, 1000) << "shares that were added while they came";
}

TEST(Plan, its_leaves_are_the_covers_of_the_members) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    const auto v = static_cast<std::uint32_t>(random.below(40) + 1);
    const auto p = static_cast<std::uint32_t>(random.below(9) + 1);
    const auto parts = static_cast<std::uint32_t>(random.below(v) + 1);
    const model::View view = random_view(random, v, p);
    const Plan plan(carriers_of(view), parts);
    for (std::uint32_t rank = 0; rank < p; ++rank) {
      auto carried = view.members[rank].logical;
      std::erase_if(carried, [&](LogicalWorker one) { return one.value() >= parts; });
      std::vector<TreeNode> leaves;
      for (const std::uint32_t leaf : plan.leaves()) {
        if (plan.nodes()[leaf].from == Rank(rank)) leaves.push_back(plan.nodes()[leaf].node);
      }
      EXPECT_EQ(leaves, model::cover(carried, parts));
      EXPECT_EQ(plan.has_leaf_of(Rank(rank)), !carried.empty());
    }
  }
}

// Two members with 2 of 4 logical workers each, and a third without; rank 0 owns chunk 0.
struct Three {
  Three() {
    view.first_step = Step(5);
    view.members.resize(3);
    for (std::uint32_t i = 0; i < 4; ++i) view.members[i / 2].logical.emplace_back(i);
    schedule.emplace(view, Rank(0), layout.chunks(3));
  }
  ChunkHead share(TreeNode node) const {
    return {Step(5), 0, node, schedule->chunks()[0].sums.bytes};
  }
  std::string refused(Rank from, const ChunkHead& head) {
    const auto share = schedule->share_begins(from, head);
    return share.ok() ? "" : share.error().message;
  }
  Layout layout{{{Element::kF32, 100'000}}};
  model::View view;
  std::optional<Schedule> schedule;
};

TEST(Schedule, what_is_not_expected_is_refused) {
  for (const bool begun : {false, true}) {
    Three three;
    if (begun) {
      ASSERT_FALSE(three.schedule->begin(Step(5), 4));
    }
    const ChunkHead good = three.share({2, 4});
    EXPECT_NE(three.refused(Rank(2), good), "") << "another member's node";
    EXPECT_NE(three.refused(Rank(1), three.share({0, 2})), "");
    EXPECT_NE(three.refused(Rank(1), three.share({3, 4})), "");
    ChunkHead bad = good;
    bad.bytes -= 4;
    EXPECT_NE(three.refused(Rank(1), bad), "") << "too short";
    bad = good;
    bad.step = Step(6);
    EXPECT_NE(three.refused(Rank(1), bad), "") << "another step";
    for (const std::uint32_t chunk : {1u, 1000u}) {
      bad = good;
      bad.chunk = chunk;
      EXPECT_NE(three.refused(Rank(1), bad), "") << "not the owner";
    }
    EXPECT_EQ(three.refused(Rank(1), good), "");
    EXPECT_NE(three.refused(Rank(1), good), "") << "twice";
    EXPECT_FALSE(three.schedule->empty_share(Rank(2), Step(4)).ok());
    EXPECT_TRUE(three.schedule->empty_share(Rank(2), Step(5)).ok());
    EXPECT_FALSE(three.schedule->empty_share(Rank(2), Step(5)).ok()) << "twice";
    EXPECT_EQ(three.schedule->empty_share(Rank(1), Step(5)).ok(), !begun);
    // Early, it shows when the step begins.
    if (!begun) {
      const auto wrong = three.schedule->begin(Step(5), 4);
      ASSERT_TRUE(wrong);
      EXPECT_EQ(wrong->by, Rank(1));
    }
  }
}

TEST(Schedule, an_early_share_of_a_wrong_node_is_found_when_the_step_begins) {
  Three three;
  EXPECT_EQ(three.refused(Rank(1), three.share({2, 3})), "") << "it could be a step of 3 parts";
  const auto wrong = three.schedule->begin(Step(5), 4);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->by, Rank(1));
  EXPECT_EQ(wrong->error.message,
            "rank 1 sent a share of [2, 3) in step 5, which is not its to make");
}

TEST(Schedule, a_chunk_waits_for_the_empty_share_of_a_member_without_samples) {
  Three three;
  ASSERT_FALSE(three.schedule->begin(Step(5), 4));
  three.schedule->contribute(0, 0);
  EXPECT_TRUE(three.schedule->work().empty());
  const auto share = three.schedule->share_begins(Rank(1), three.share({2, 4}));
  ASSERT_TRUE(share.ok());
  EXPECT_FALSE(share->work) << "added at once, it would overwrite what rank 2 may need";
  three.schedule->share_ends(*share);
  EXPECT_TRUE(three.schedule->work().empty());
  ASSERT_TRUE(three.schedule->empty_share(Rank(2), Step(5)).ok());
  ASSERT_EQ(three.schedule->work().size(), 1u);
  EXPECT_TRUE(three.schedule->work()[0].is_last);
}

TEST(Schedule, reduced_chunks_come_from_their_owner_in_their_step_once) {
  Three three;
  const std::uint32_t last = static_cast<std::uint32_t>(three.schedule->chunks().size()) - 1;
  const Chunk& chunk = three.schedule->chunks()[last];
  ASSERT_NE(chunk.owner, Rank(0));
  const ChunkHead good{Step(5), last, {}, chunk.reduced.bytes};
  EXPECT_FALSE(three.schedule->reduced_begins(chunk.owner, good).ok()) << "before the step began";
  ASSERT_FALSE(three.schedule->begin(Step(5), 4));
  ChunkHead bad = good;
  bad.step = Step(6);
  EXPECT_FALSE(three.schedule->reduced_begins(chunk.owner, bad).ok());
  bad = good;
  bad.bytes += 1;
  EXPECT_FALSE(three.schedule->reduced_begins(chunk.owner, bad).ok());
  bad = good;
  bad.chunk = 77;
  EXPECT_FALSE(three.schedule->reduced_begins(chunk.owner, bad).ok());
  EXPECT_FALSE(three.schedule->reduced_begins(Rank(chunk.owner.value() - 1), good).ok());
  EXPECT_TRUE(three.schedule->reduced_begins(chunk.owner, good).ok());
  EXPECT_FALSE(three.schedule->reduced_begins(chunk.owner, good).ok()) << "twice";
}

}  // namespace
}  // namespace edl::collective
