// Suspicion is of links, not of workers: which members have to go so that all who stay reach each
// other. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace edl::membership {

// Ranks of members, and pairs of them whose link is broken, the lower rank first.
using Places = std::set<std::uint32_t>;
using BrokenLinks = std::set<std::pair<std::uint32_t, std::uint32_t>>;

// The fewest members that leave no broken link among the rest; of several such sets the one whose
// highest ranks are highest, so that those who have been there longest stay. `stays` is never among
// them. The same arguments give the same answer everywhere.
Places fewest_to_drop(const BrokenLinks& broken, std::optional<std::uint32_t> stays);

}  // namespace edl::membership
