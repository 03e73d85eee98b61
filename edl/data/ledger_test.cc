#include "edl/data/ledger.h"

#include <gtest/gtest.h>

#include "edl/base/random.h"
#include "edl/data/verify.h"
#include "edl/model/position.h"

namespace edl::data {
namespace {

using model::LedgerRecord;
using model::Step;

constexpr std::uint64_t kSamples = 100;

// A job that trains, loses its last steps now and then, and trains them again. What each line of
// its ledger was, is kept.
LedgerLines honest_lines(Random& random, int steps) {
  Ledger ledger;
  LedgerLines lines;
  std::vector<model::Position> before{{}};  // before step s at s - 1
  std::uint64_t generation = 1;
  for (int i = 0; i < steps; ++i) {
    if (random.once_in(10) && before.size() > 3) {
      before.resize(before.size() - random.below(3));
      ++generation;
    }
    if (random.once_in(5)) ++generation;
    const auto plan = model::next_step(before.back(), kSamples, random.below(40) + 1);
    LedgerRecord record{.generation = model::Generation(generation),
                        .step = plan.step,
                        .epoch = plan.epoch,
                        .position = plan.positions.from,
                        .samples = plan.positions.size()};
    record.digest[0] = static_cast<std::byte>(random.below(256));
    EXPECT_TRUE(ledger.append(record).ok());
    lines.push_back(ledger.records().back());
    before.push_back(plan.after());
  }
  return lines;
}

// As somebody would who wants to hide what he changed: with chains that fit.
LedgerLines chained_again(const LedgerLines& lines) {
  Ledger ledger;
  LedgerLines out;
  for (const LedgerRecord& line : lines) {
    if (ledger.append(line).ok()) out.push_back(ledger.records().back());
  }
  return out;
}

TEST(Ledger, an_honest_history_is_proven) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const LedgerLines lines = honest_lines(random, 60);
    const LedgerLines part(lines.begin(), lines.begin() + 20);  // of a member that died
    const LedgerLines ledgers[] = {lines, part, lines};
    const Verification verified = verify(ledgers, kSamples);
    EXPECT_TRUE(verified.proven())
        << "seed " << seed << ": "
        << (verified.violations.empty() ? "nothing" : verified.violations[0].detail);
    EXPECT_GT(verified.epochs, 1u);
  }
}

TEST(Ledger, a_changed_line_breaks_the_chain) {
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    LedgerLines lines = honest_lines(random, 30);
    LedgerRecord& line = lines[random.below(lines.size())];
    line.digest[5] ^= std::byte{1};
    const Verification verified = verify({&lines, 1}, kSamples);
    ASSERT_FALSE(verified.proven());
    EXPECT_EQ(verified.violations[0].kind, ViolationKind::kBrokenChain);
  }
}

TEST(Ledger, a_wrong_history_is_found_even_when_its_chain_fits) {
  Random random(8);
  int kinds[5] = {};
  for (int i = 0; i < 300; ++i) {
    LedgerLines lines = honest_lines(random, 30);
    LedgerRecord& line = lines[random.below(lines.size() - 2)];
    const bool shorter = random.once_in(2) && line.samples > 1;
    if (shorter) {
      --line.samples;
    } else {
      line.position += 1;
    }
    const LedgerLines forged = chained_again(lines);
    const Verification verified = verify({&forged, 1}, kSamples);
    // A line that a later one replaced may say what it likes.
    const bool replaced = std::none_of(forged.begin(), forged.end(), [&](const auto& other) {
      return other.step == line.step && other.generation > line.generation;
    });
    if (!replaced) continue;
    EXPECT_FALSE(verified.proven());
    for (const Violation& violation : verified.violations) {
      ++kinds[static_cast<std::size_t>(violation.kind)];
    }
  }
  EXPECT_GT(kinds[static_cast<std::size_t>(ViolationKind::kMissingSample)], 10);
  EXPECT_GT(kinds[static_cast<std::size_t>(ViolationKind::kRepeatedSample)], 10);
}

TEST(Ledger, members_that_disagree_are_found) {
  Random random(9);
  const LedgerLines lines = honest_lines(random, 20);
  LedgerLines other = lines;
  other.back().digest[0] ^= std::byte{1};
  const LedgerLines ledgers[] = {lines, chained_again(other)};
  const Verification verified = verify(ledgers, kSamples);
  EXPECT_EQ(verified.conflicting, 1u);
  EXPECT_EQ(verified.violations.at(0).kind, ViolationKind::kConflictingStep);
}

// All members died behind step 5; a newer generation went on there, with another batch.
TEST(Ledger, what_an_older_generation_trained_behind_a_newer_one_is_over) {
  Ledger older;
  Ledger newer;
  const auto record = [](std::uint64_t step, std::uint64_t generation, std::uint64_t position) {
    LedgerRecord out{.generation = model::Generation(generation),
                     .step = Step(step),
                     .epoch = model::Epoch(0),
                     .position = position};
    out.samples = generation == 1 ? 10 : 25;
    return out;
  };
  for (std::uint64_t step = 1; step <= 9; ++step) {
    ASSERT_TRUE(older.append(record(step, 1, (step - 1) * 10)).ok());
  }
  for (std::uint64_t step = 1; step <= 5; ++step) {
    ASSERT_TRUE(newer.append(record(step, 1, (step - 1) * 10)).ok());
  }
  ASSERT_TRUE(newer.append(record(6, 3, 50)).ok());
  ASSERT_TRUE(newer.append(record(7, 3, 75)).ok());
  for (const bool older_first : {true, false}) {
    const LedgerLines ledgers[] = {older_first ? older.records() : newer.records(),
                                   older_first ? newer.records() : older.records()};
    const Verification verified = verify(ledgers, kSamples);
    EXPECT_TRUE(verified.proven());
    EXPECT_EQ(verified.steps, 7u);
    EXPECT_EQ(verified.epochs, 1u);
    EXPECT_EQ(verified.samples, kSamples);
  }
}

TEST(Ledger, members_whose_histories_do_not_join_are_found) {
  const auto record = [](std::uint64_t step, std::uint64_t generation) {
    return LedgerRecord{.generation = model::Generation(generation),
                        .step = Step(step),
                        .epoch = model::Epoch(0),
                        .position = (step - 1) * 10,
                        .samples = 10};
  };
  Ledger one;
  ASSERT_TRUE(one.append(record(1, 1)).ok());
  ASSERT_TRUE(one.append(record(2, 2)).ok());
  Ledger other;  // says that step 2 was of generation 1
  ASSERT_TRUE(other.append(record(1, 1)).ok());
  ASSERT_TRUE(other.append(record(2, 1)).ok());
  ASSERT_TRUE(other.append(record(3, 2)).ok());
  const LedgerLines ledgers[] = {one.records(), other.records()};
  const Verification verified = verify(ledgers, kSamples);
  ASSERT_FALSE(verified.proven());
  EXPECT_EQ(verified.violations[0].kind, ViolationKind::kBrokenChain);
}

TEST(Ledger, numbers_out_of_all_bounds_are_counted_and_not_believed) {
  Ledger ledger;
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  ASSERT_TRUE(ledger
                  .append({.generation = model::Generation(1),
                           .step = Step(1),
                           .epoch = model::Epoch(kHuge),
                           .position = kHuge,
                           .samples = kHuge})
                  .ok());
  const LedgerLines lines = ledger.records();
  const Verification verified = verify({&lines, 1}, kSamples);
  EXPECT_EQ(verified.verdict, Verdict::kViolated);
  EXPECT_EQ(verified.missing, kHuge);
}

TEST(Ledger, nothing_is_left_out_and_nothing_goes_back_in_its_generation) {
  Ledger ledger;
  const auto record = [](std::uint64_t step, std::uint64_t generation) {
    return LedgerRecord{
        .generation = model::Generation(generation), .step = Step(step), .epoch = model::Epoch(0)};
  };
  EXPECT_FALSE(ledger.append(record(2, 1)).ok());
  EXPECT_TRUE(ledger.append(record(1, 1)).ok());
  EXPECT_TRUE(ledger.append(record(2, 1)).ok());
  EXPECT_FALSE(ledger.append(record(2, 1)).ok());
  EXPECT_TRUE(ledger.append(record(2, 2)).ok());
  EXPECT_EQ(ledger.last_step(), Step(2));
}

// Steps of a stream with these batches.
LedgerLines stream_lines(const std::vector<std::uint64_t>& batches) {
  Ledger ledger;
  std::uint64_t position = 0;
  std::uint64_t step = 0;
  for (const std::uint64_t samples : batches) {
    EXPECT_TRUE(ledger
                    .append({.generation = model::Generation(1),
                             .step = Step(++step),
                             .epoch = model::Epoch(0),
                             .position = position,
                             .samples = samples})
                    .ok());
    position += samples;
  }
  return ledger.records();
}

TEST(Ledger, a_stream_is_proven_as_far_as_it_went_and_a_hole_in_it_is_found) {
  const LedgerLines lines = stream_lines({64, 64, 30, 64, 1});
  const Verification verified = verify({&lines, 1}, model::SampleCount::unknown());
  EXPECT_TRUE(verified.proven());
  EXPECT_EQ(verified.samples, 223u);
  EXPECT_EQ(verified.epochs, 0u);
  LedgerLines hole = lines;
  for (std::size_t i = 2; i < hole.size(); ++i) ++hole[i].position;
  hole = chained_again(hole);
  const Verification found = verify({&hole, 1}, model::SampleCount::unknown());
  EXPECT_FALSE(found.proven());
  EXPECT_EQ(found.missing, 1u);
}

}  // namespace
}  // namespace edl::data
