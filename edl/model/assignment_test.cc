#include "edl/model/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "edl/base/random.h"

namespace edl::model {
namespace {

using Carriers = std::vector<Carrier>;
using Numbers = std::vector<std::uint32_t>;

void expect_each_carried_once(const Assignment& assignment, std::uint32_t logical_workers) {
  std::vector<int> times(logical_workers);
  for (const auto& logical : assignment.logical) {
    EXPECT_TRUE(std::is_sorted(logical.begin(), logical.end()));
    for (const LogicalWorker v : logical) ++times.at(v.value());
  }
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), logical_workers);
}

Numbers numbers(const std::vector<LogicalWorker>& logical) {
  Numbers result;
  for (const LogicalWorker v : logical) result.push_back(v.value());
  return result;
}

TEST(Assignment, without_a_past_members_get_subtrees_from_left_to_right) {
  const Assignment four = assign(8, Carriers(4));
  EXPECT_EQ(numbers(four.logical[0]), (Numbers{0, 1}));
  EXPECT_EQ(numbers(four.logical[3]), (Numbers{6, 7}));
  EXPECT_EQ(four.pieces, 4u);
  const Assignment three = assign(8, Carriers(3));
  EXPECT_EQ(three.pieces, 5u);
  EXPECT_EQ(numbers(three.logical[2]), (Numbers{4, 5}));
}

TEST(Assignment, a_size_that_is_not_useful_leaves_a_member_without_work) {
  const Assignment five = assign(8, Carriers(5));
  EXPECT_EQ(five.pieces, 4u);
  EXPECT_TRUE(five.logical[4].empty());
}

TEST(Assignment, a_slow_member_carries_less) {
  Carriers members(4);
  members[2].speed = 0.25;
  const Assignment relieved = assign(16, members);
  EXPECT_EQ(relieved.logical[2].size(), 1u);
  EXPECT_EQ(relieved.pieces, 7u);  // 5 = 4 + 1 for each of the others
}

// Views follow one another: someone dies or joins, and the others keep what they can.
TEST(Assignment, histories_of_deaths_and_joins_are_solved_exactly) {
  Random random(3);
  for (const std::uint32_t logical_workers : {8u, 12u, 16u, 32u, 64u}) {
    Carriers members(logical_workers / 2);
    for (int change = 0; change < 60; ++change) {
      const Assignment now = assign(logical_workers, members);
      expect_each_carried_once(now, logical_workers);
      EXPECT_TRUE(now.proven) << logical_workers << " on " << members.size();
      for (std::size_t i = 0; i < members.size(); ++i) members[i].carried = now.logical[i];
      const bool join =
          members.size() == 1 || (members.size() < logical_workers && random.below(2) == 0);
      if (join) {
        members.emplace_back();
      } else {
        members.erase(members.begin() + static_cast<std::ptrdiff_t>(random.below(members.size())));
      }
    }
  }
}

TEST(Assignment, a_death_among_hundreds_moves_nothing_that_can_stay) {
  Carriers members(512);
  const Assignment before = assign(1024, members);
  for (std::size_t i = 0; i < members.size(); ++i) members[i].carried = before.logical[i];
  members.erase(members.begin() + 100);
  const Assignment after = assign(1024, members);
  expect_each_carried_once(after, 1024);
  EXPECT_EQ(after.moves, 0u);
  EXPECT_EQ(after.pieces, 513u);
  EXPECT_TRUE(after.proven);
}

// How many logical workers the members could carry in less than this time.
std::uint32_t carried_before(double time, const Carriers& members, std::uint32_t most) {
  std::uint32_t total = 0;
  for (const Carrier& member : members) {
    for (std::uint32_t load = 1; load <= most && load / member.speed < time; ++load) ++total;
  }
  return total;
}

TEST(Assignment, large_and_scattered_is_still_carried_once_in_the_least_time) {
  Random random(4);
  for (const std::uint32_t logical_workers : {1000u, 1023u, 1024u}) {
    for (const std::uint32_t count : {1u, 3u, 100u, 511u, 512u}) {
      Carriers members(count);
      for (Carrier& member : members) member.speed = static_cast<double>(random.between(1, 4));
      for (std::uint32_t v = 0; v < logical_workers; ++v) {
        members[random.below(count)].carried.emplace_back(v);
      }
      const Assignment found = assign(logical_workers, members);
      expect_each_carried_once(found, logical_workers);
      double slowest = 0;
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto load = static_cast<double>(found.logical[i].size());
        slowest = std::max(slowest, load / members[i].speed);
      }
      EXPECT_LT(carried_before(slowest, members, logical_workers), logical_workers);
    }
  }
}

}  // namespace
}  // namespace edl::model
