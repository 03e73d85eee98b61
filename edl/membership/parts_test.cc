// The parts of membership that are functions: broken links, silence, rules, messages.
#include <gtest/gtest.h>

#include "edl/base/random.h"
#include "edl/membership/broken_links.h"
#include "edl/membership/message.h"
#include "edl/membership/rules.h"
#include "edl/membership/silence.h"

namespace edl::membership {
namespace {

// All sets of members, the smallest first and of these the one with the highest ranks.
Places by_trying_all(const BrokenLinks& broken, std::uint32_t members,
                     std::optional<std::uint32_t> stays) {
  std::optional<Places> best;
  for (std::uint32_t set = 0; set < (1U << members); ++set) {
    Places places;
    for (std::uint32_t rank = 0; rank < members; ++rank) {
      if ((set >> rank & 1U) != 0) places.insert(rank);
    }
    if (stays && places.contains(*stays)) continue;
    const bool covers = std::all_of(broken.begin(), broken.end(), [&](const auto& link) {
      return places.contains(link.first) || places.contains(link.second);
    });
    if (!covers || (best && places.size() > best->size())) continue;
    const bool is_better =
        !best || places.size() < best->size() ||
        std::lexicographical_compare(best->rbegin(), best->rend(), places.rbegin(), places.rend());
    if (is_better) best = places;
  }
  return *best;
}

TEST(BrokenLinks, fewest_to_drop_is_what_trying_all_sets_gives) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto members = static_cast<std::uint32_t>(random.between(2, 8));
    const auto links = random.between(0, 10);
    BrokenLinks broken;
    for (std::int64_t k = 0; k < links; ++k) {
      const auto a = static_cast<std::uint32_t>(random.between(0, members - 1));
      const auto b = static_cast<std::uint32_t>(random.between(0, members - 1));
      if (a != b) broken.insert({std::min(a, b), std::max(a, b)});
    }
    std::optional<std::uint32_t> stays;
    if (random.once_in(2)) stays = static_cast<std::uint32_t>(random.between(0, members - 1));
    ASSERT_EQ(fewest_to_drop(broken, stays), by_trying_all(broken, members, stays))
        << "round " << round;
  }
}

TEST(BrokenLinks, hundreds_of_members_take_a_moment) {
  BrokenLinks broken;
  for (std::uint32_t a = 0; a < 64; ++a) {
    for (std::uint32_t b = a + 1; b < 64; b += 1 + a % 7) broken.insert({a, b});
  }
  const Places drop = fewest_to_drop(broken, 3);
  EXPECT_FALSE(drop.contains(3));
  for (const auto& link : broken) {
    EXPECT_TRUE(drop.contains(link.first) || drop.contains(link.second));
  }
}

TEST(Silence, is_learned_from_the_median_step) {
  Silence silence(8);
  EXPECT_EQ(silence.limit(), Silence::kAtFirst);
  for (int k = 0; k < 9; ++k) silence.on_step(100ms);
  EXPECT_EQ(silence.limit(), Silence::kAtFirst);
  silence.on_step(100s);  // one slow step says nothing
  EXPECT_EQ(silence.limit(), 800ms);
}

TEST(Silence, stays_within_its_limits) {
  Silence fast;
  Silence slow;
  for (int k = 0; k < 20; ++k) {
    fast.on_step(1ms);
    slow.on_step(1h);
  }
  EXPECT_EQ(fast.limit(), Silence::kLeast);
  EXPECT_EQ(slow.limit(), Silence::kMost);
  EXPECT_GT(fast.limit_of_others(), fast.limit());
}

TEST(Silence, forgets_what_was_long_ago) {
  Silence silence(8);
  for (std::size_t k = 0; k < Silence::kWindow; ++k) silence.on_step(1s);
  for (std::size_t k = 0; k < Silence::kWindow; ++k) silence.on_step(100ms);
  EXPECT_EQ(silence.median_step(), 100ms);
}

Rules rules_of(model::BatchPolicy policy) {
  return {
      .logical_workers = 8, .min = 1, .max = 8, .policy = policy, .batch = 32, .batch_max = 100};
}

TEST(Rules, the_batch_follows_its_policy) {
  using model::BatchPolicy;
  EXPECT_EQ(rules_of(BatchPolicy::kFixed).batch_of(1).global, 32U);
  EXPECT_EQ(rules_of(BatchPolicy::kFixed).batch_of(8).global, 32U);
  EXPECT_EQ(rules_of(BatchPolicy::kLinear).batch_of(2).global, 64U);
  EXPECT_EQ(rules_of(BatchPolicy::kCapped).batch_of(2).global, 64U);
  EXPECT_EQ(rules_of(BatchPolicy::kCapped).batch_of(8).global, 100U);
  EXPECT_EQ(rules_of(BatchPolicy::kAdaptive).batch_of(8).global, 32U);
}

TEST(Rules, every_batch_is_valid) {
  for (const auto policy : {model::BatchPolicy::kFixed, model::BatchPolicy::kLinear,
                            model::BatchPolicy::kCapped, model::BatchPolicy::kAdaptive}) {
    for (std::size_t members = 1; members <= 8; ++members) {
      for (const std::uint64_t micro : {1, 3, 4, 100}) {
        Rules rules = rules_of(policy);
        rules.micro = micro;
        const model::Batch batch = rules.batch_of(members);
        EXPECT_TRUE(model::validate(batch, 8).ok());
        EXPECT_LE(batch.micro, micro);
      }
    }
  }
}

TEST(Rules, end_after_steps_or_epochs) {
  Rules rules;
  EXPECT_FALSE(rules.is_finished({model::Epoch(99), 0, model::Step(999)}));
  rules.steps = 10;
  EXPECT_FALSE(rules.is_finished({model::Epoch(), 0, model::Step(9)}));
  EXPECT_TRUE(rules.is_finished({model::Epoch(), 0, model::Step(10)}));
  rules.steps.reset();
  rules.epochs = 2;
  EXPECT_FALSE(rules.is_finished({model::Epoch(1), 5, model::Step(10)}));
  EXPECT_TRUE(rules.is_finished({model::Epoch(2), 0, model::Step(10)}));
}

TEST(Rules, what_is_wanted_is_cut_to_the_limits) {
  const Rules rules{.logical_workers = 6, .min = 2, .max = 8};
  EXPECT_EQ(rules.fit(0), 2U);
  EXPECT_EQ(rules.fit(5), 5U);
  EXPECT_EQ(rules.fit(99), 6U);  // not more than logical workers
}

TEST(Message, comes_back_as_it_was_sent) {
  Message message{.kind = Kind::kPromise,
                  .ballot = model::Ballot(7),
                  .generation = model::Generation(3),
                  .step = model::Step(9),
                  .here = {model::Epoch(1), 8, model::Step(9)},
                  .who = "w1",
                  .ids = {"w2", "w3"},
                  .text = "left",
                  .speed = 2.5};
  const auto read = message_from(Json(message));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, message);
}

TEST(Message, what_makes_no_sense_is_refused) {
  for (const char* line :
       {"{}", R"({"kind":"shout"})", R"({"kind":"view"})", R"({"kind":"join","ids":7})",
        R"({"kind":"promise","ballot":-1})", "[]", R"({"kind":"promise","here":{"step":"x"}})"}) {
    EXPECT_FALSE(message_from(*parse_json(line)).ok()) << line;
  }
}

}  // namespace
}  // namespace edl::membership
