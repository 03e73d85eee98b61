#include "edl/model/assignment.h"

#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "edl/model/assignment_search.h"
#include "edl/model/tree.h"

namespace edl::model {
namespace {

// The most that each member may carry when the slowest is to be as fast as possible.
std::vector<std::uint32_t> capacities(std::uint32_t logical_workers,
                                      std::span<const Carrier> members) {
  std::vector<std::uint32_t> loads(members.size());
  const auto time_with_one_more = [&](std::size_t i) { return (loads[i] + 1) / members[i].speed; };
  using Next = std::pair<double, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> soonest;
  for (std::size_t i = 0; i < members.size(); ++i) {
    EDL_CHECK(std::isfinite(members[i].speed) && members[i].speed > 0);
    soonest.emplace(time_with_one_more(i), i);
  }
  double slowest = 0;
  for (std::uint32_t v = 0; v < logical_workers; ++v) {
    const auto [time, i] = soonest.top();
    soonest.pop();
    slowest = time;
    ++loads[i];
    soonest.emplace(time_with_one_more(i), i);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    while (loads[i] < logical_workers && time_with_one_more(i) <= slowest) ++loads[i];
  }
  return loads;
}

std::vector<std::uint32_t> carriers(std::uint32_t logical_workers,
                                    std::span<const Carrier> members) {
  std::vector<std::uint32_t> carrier(logical_workers, kNobody);
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const LogicalWorker v : members[i].carried) {
      EDL_CHECK(v.value() < logical_workers && carrier[v.value()] == kNobody);
      carrier[v.value()] = static_cast<std::uint32_t>(i);
    }
  }
  return carrier;
}

}  // namespace

Assignment assign(std::uint32_t logical_workers, std::span<const Carrier> members) {
  EDL_CHECK(logical_workers >= 1 && logical_workers <= kLogicalWorkersMax && !members.empty());
  const std::vector<std::uint32_t> before = carriers(logical_workers, members);
  AssignmentSearch search(before, capacities(logical_workers, members));
  const std::vector<std::uint32_t> now = search.run();

  Assignment result;
  result.proven = search.proven();
  result.logical.resize(members.size());
  for (std::uint32_t v = 0; v < logical_workers; ++v) {
    result.logical[now[v]].emplace_back(v);
    if (before[v] != kNobody && before[v] != now[v]) ++result.moves;
  }
  for (const auto& logical : result.logical) {
    result.pieces += static_cast<std::uint32_t>(cover(logical, logical_workers).size());
  }
  return result;
}

}  // namespace edl::model
