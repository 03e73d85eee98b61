// Compares with naive versions that are slow and exact.
#include "edl/model/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "edl/base/random.h"
#include "edl/model/tree.h"

namespace edl::model {
namespace {

using Carriers = std::vector<Carrier>;
using Mask = std::uint32_t;  // a set of logical workers

// What an assignment is judged by, best first.
struct Cost {
  double time = 0;
  std::uint32_t pieces = 0;
  std::uint32_t moves = 0;
  auto operator<=>(const Cost&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Cost& cost) {
  return out << cost.time << " time, " << cost.pieces << " pieces, " << cost.moves << " moves";
}

// What the naive versions need to know about a problem.
struct Problem {
  Problem(std::uint32_t count, const Carriers& carriers)
      : logical_workers(count), members(carriers) {
    for (Mask set = 0; set < Mask{1} << count; ++set) {
      std::vector<LogicalWorker> carried;
      for (std::uint32_t v = 0; v < count; ++v) {
        if ((set >> v & 1) != 0) carried.emplace_back(v);
      }
      pieces.push_back(static_cast<std::uint32_t>(cover(carried, count).size()));
    }
    for (const Carrier& member : members) {
      before.push_back(0);
      for (const LogicalWorker v : member.carried) before.back() |= Mask{1} << v.value();
      alive |= before.back();
    }
  }

  Cost cost(std::size_t member, Mask set) const {
    return {std::popcount(set) / members[member].speed, pieces[set],
            static_cast<std::uint32_t>(std::popcount(set & alive & ~before[member]))};
  }

  std::uint32_t logical_workers;
  const Carriers& members;
  std::vector<std::uint32_t> pieces;  // of each set
  std::vector<Mask> before;           // of each member
  Mask alive = 0;                     // carried by anyone who is still here
};

Cost cost_of(const Problem& problem, const std::vector<Mask>& sets) {
  Cost total;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Cost one = problem.cost(i, sets[i]);
    total = {std::max(total.time, one.time), total.pieces + one.pieces, total.moves + one.moves};
  }
  return total;
}

// Tries every member for every logical worker.
void try_all(const Problem& problem, std::uint32_t v, std::vector<Mask>& sets, Cost& best) {
  if (v == problem.logical_workers) {
    best = std::min(best, cost_of(problem, sets));
    return;
  }
  for (Mask& set : sets) {
    set |= Mask{1} << v;
    try_all(problem, v + 1, sets, best);
    set &= ~(Mask{1} << v);
  }
}

Cost best_of_all(const Problem& problem) {
  std::vector<Mask> sets(problem.members.size());
  Cost best{1e9, 0, 0};
  try_all(problem, 0, sets, best);
  return best;
}

// The least time in which all are carried: the first of all possible times that is enough.
double least_time(const Problem& problem) {
  std::vector<double> times;
  for (std::uint32_t load = 1; load <= problem.logical_workers; ++load) {
    for (const Carrier& member : problem.members) times.push_back(load / member.speed);
  }
  std::sort(times.begin(), times.end());
  for (const double time : times) {
    const auto within =
        std::count_if(times.begin(), times.end(), [&](double t) { return t <= time; });
    if (within >= static_cast<std::ptrdiff_t>(problem.logical_workers)) return time;
  }
  return 0;
}

// Exact, by sets: reached_[set] is the best price of the members so far carrying `set`.
class BySets {
 public:
  explicit BySets(const Problem& problem) : problem_(problem), time_(least_time(problem)) {}

  Cost best() {
    const Mask all = (Mask{1} << problem_.logical_workers) - 1;
    reached_.assign(all + 1, kNever);
    reached_[0] = 0;
    for (std::size_t member = 0; member < problem_.members.size(); ++member) add(member, all);
    return {time_, reached_[all] / kPiece, reached_[all] % kPiece};
  }

 private:
  static constexpr std::uint32_t kPiece = 1024;  // one more piece is worse than any moves
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};

  int room(std::size_t member) const {
    int load = 0;
    while ((load + 1) / problem_.members[member].speed <= time_) ++load;
    return load;
  }

  // Lets `member` carry whatever fits beside each set that those before it can carry, if those
  // after it can carry the rest.
  void add(std::size_t member, Mask all) {
    price_.clear();
    for (Mask set = 0; set <= all; ++set) {
      const Cost cost = problem_.cost(member, set);
      price_.push_back(cost.pieces * kPiece + cost.moves);
    }
    int room_after = 0;
    for (std::size_t i = member + 1; i < problem_.members.size(); ++i) room_after += room(i);
    next_.assign(all + 1, kNever);
    for (Mask set = 0; set <= all; ++set) {
      const int least = std::popcount(all) - std::popcount(set) - room_after;
      if (reached_[set] != kNever) extend(set, all & ~set, {0, room(member), least});
    }
    reached_ = next_;
  }

  struct Taken {
    Mask mine;
    int room;
    int least;  // that must still be taken
  };
  void extend(Mask others, Mask free, Taken taken) {
    std::uint32_t& here = next_[others | taken.mine];
    if (taken.least <= 0) here = std::min(here, reached_[others] + price_[taken.mine]);
    if (taken.room == 0) return;
    for (; free != 0; free &= free - 1) {
      const Mask lowest = free & (~free + 1);
      extend(others, free ^ lowest, {taken.mine | lowest, taken.room - 1, taken.least - 1});
    }
  }

  const Problem& problem_;
  const double time_;
  std::vector<std::uint32_t> reached_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> price_;  // of each set for the member looked at
};

std::vector<Mask> sets_of(const Assignment& assignment) {
  std::vector<Mask> sets;
  for (const auto& logical : assignment.logical) {
    sets.push_back(0);
    for (const LogicalWorker v : logical) sets.back() |= Mask{1} << v.value();
  }
  return sets;
}

void expect_each_carried_once(const Assignment& assignment, std::uint32_t logical_workers) {
  std::vector<int> times(logical_workers);
  for (const auto& logical : assignment.logical) {
    EXPECT_TRUE(std::is_sorted(logical.begin(), logical.end()));
    for (const LogicalWorker v : logical) ++times.at(v.value());
  }
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), logical_workers);
}

void expect_best(const Problem& problem, const Cost& best) {
  const Assignment found = assign(problem.logical_workers, problem.members);
  expect_each_carried_once(found, problem.logical_workers);
  EXPECT_EQ(cost_of(problem, sets_of(found)), best)
      << problem.logical_workers << " on " << problem.members.size();
  EXPECT_EQ(found.pieces, best.pieces);
  EXPECT_EQ(found.moves, best.moves);
  EXPECT_TRUE(found.proven);
}

// Some carried at random, some by nobody; joiners; equal or uneven speeds.
Carriers random_members(Random& random, std::uint32_t logical_workers, std::uint32_t count) {
  Carriers members(count);
  const std::uint64_t speeds = random.below(2) == 0 ? 1 : 4;
  for (Carrier& member : members) member.speed = 1 + static_cast<double>(random.below(speeds));
  const std::uint64_t carriers = 1 + random.below(count + count / 2 + 1);
  for (std::uint32_t v = 0; v < logical_workers; ++v) {
    const std::uint64_t member = random.below(carriers);
    if (member < count) members[member].carried.emplace_back(v);
  }
  return members;
}

TEST(AssignmentBest, is_the_best_of_all_that_exist) {
  Random random(1);
  for (std::uint32_t logical_workers = 1; logical_workers <= 8; ++logical_workers) {
    for (std::uint32_t count = 1; count <= logical_workers; ++count) {
      for (int round = logical_workers <= 6 ? 10 : 1; round > 0; --round) {
        const Carriers members = random_members(random, logical_workers, count);
        const Problem problem(logical_workers, members);
        expect_best(problem, best_of_all(problem));
      }
    }
  }
}

TEST(AssignmentBest, is_as_good_as_the_exact_one_by_sets) {
  Random random(2);
  for (std::uint32_t logical_workers = 1; logical_workers <= 16; ++logical_workers) {
    for (std::uint32_t count = 1; count <= logical_workers; ++count) {
      for (int round = logical_workers <= 12   ? 12
                       : logical_workers <= 14 ? 4
                                               : 2;
           round > 0; --round) {
        const Carriers members = random_members(random, logical_workers, count);
        const Problem problem(logical_workers, members);
        expect_best(problem, BySets(problem).best());
      }
    }
  }
}

}  // namespace
}  // namespace edl::model
