#include "edl/membership/broken_links.h"

#include <map>

namespace edl::membership {
namespace {

// Beyond this many branches the search takes what it has found: a valid answer, perhaps not the
// smallest. It is reached only by dozens of members with broken links all over.
constexpr int kBranchesMax = 20'000;

class Search {
 public:
  Search(const BrokenLinks& broken, std::optional<std::uint32_t> stays)
      : broken_(broken), stays_(stays) {}

  Places best() {
    Places dropped;
    branch(dropped);
    return *best_;
  }

 private:
  static bool is_covered(const std::pair<std::uint32_t, std::uint32_t>& link, const Places& by) {
    return by.contains(link.first) || by.contains(link.second);
  }

  // The uncovered link whose ends have the most other uncovered links: it decides most.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> worst(const Places& dropped) const {
    std::map<std::uint32_t, int> degree;
    for (const auto& link : broken_) {
      if (is_covered(link, dropped)) continue;
      ++degree[link.first];
      ++degree[link.second];
    }
    std::optional<std::pair<std::uint32_t, std::uint32_t>> worst;
    int most = 0;
    for (const auto& link : broken_) {
      if (is_covered(link, dropped)) continue;
      const int weight = degree[link.first] + degree[link.second];
      if (weight > most) {
        most = weight;
        worst = link;
      }
    }
    return worst;
  }

  static bool is_better(const Places& one, const Places& other) {
    if (one.size() != other.size()) return one.size() < other.size();
    return std::lexicographical_compare(other.rbegin(), other.rend(), one.rbegin(), one.rend());
  }

  void branch(Places& dropped) {
    if (best_ && (dropped.size() > best_->size() || ++branches_ > kBranchesMax)) return;
    const auto link = worst(dropped);
    if (!link) {
      if (!best_ || is_better(dropped, *best_)) best_ = dropped;
      return;
    }
    for (const std::uint32_t end : {link->second, link->first}) {
      if (end == stays_) continue;
      dropped.insert(end);
      branch(dropped);
      dropped.erase(end);
    }
  }

  const BrokenLinks& broken_;
  const std::optional<std::uint32_t> stays_;
  std::optional<Places> best_;
  int branches_ = 0;
};

}  // namespace

Places fewest_to_drop(const BrokenLinks& broken, std::optional<std::uint32_t> stays) {
  return Search(broken, stays).best();
}

}  // namespace edl::membership
