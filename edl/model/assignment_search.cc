#include "edl/model/assignment_search.h"

#include <algorithm>
#include <tuple>

namespace edl::model {
namespace {

constexpr std::uint32_t kExhaustiveMax = 128;  // logical workers
constexpr std::uint64_t kWorkMax = 100'000;    // choices looked at
constexpr std::int64_t kImpossible = -1'000'000;

}  // namespace

bool AssignmentSearch::Choice::operator<(const Choice& other) const {
  return std::tuple(-bound, other.size, member) < std::tuple(-other.bound, size, other.member);
}

AssignmentSearch::AssignmentSearch(std::vector<std::uint32_t> before,
                                   std::vector<std::uint32_t> rooms)
    : leaves_(static_cast<std::uint32_t>(before.size())),
      before_(std::move(before)),
      exhaustive_(leaves_ <= kExhaustiveMax),
      sizes_(leaves_),
      packing_(leaves_, std::move(rooms)),
      carried_(packing_.members()),
      now_(leaves_),
      fewest_pieces_(packing_.fewest_pieces(0)),
      pieces_left_(fewest_pieces_),
      overlap_(packing_.members()) {
  const std::vector<TreeNode> nodes = tree_nodes(leaves_);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    sizes_[node->lo].push_back(node->size());
  }
  for (const std::uint32_t member : before_) {
    if (member != kNobody) set_carried(member, carried_[member] + 1);
  }
  upper_bound_ = can_stay_;
  if (exhaustive_) make_outlook();
}

// outlook_[at][pieces]: how many of the leaves from `at` on can stay when they are cut into at most
// so many pieces and rooms only limit the size of a piece.
void AssignmentSearch::make_outlook() {
  const std::uint32_t width = fewest_pieces_ + 1;
  outlook_.assign(std::size_t{leaves_ + 1} * width, kImpossible);
  std::fill(outlook_.end() - width, outlook_.end(), 0);
  for (std::uint32_t from = leaves_; from-- > 0;) {
    std::fill(overlap_.begin(), overlap_.end(), 0);
    std::uint32_t end = from;
    std::int64_t most = 0;
    for (const std::uint32_t size : sizes_[from]) {
      if (size > packing_.largest_room()) break;
      for (; end < from + size; ++end) {
        const std::uint32_t member = before_[end];
        if (member != kNobody) most = std::max<std::int64_t>(most, ++overlap_[member]);
      }
      for (std::uint32_t pieces = 1; pieces < width; ++pieces) {
        std::int64_t& here = outlook_[std::size_t{from} * width + pieces];
        here = std::max(here, most + outlook_[std::size_t{end} * width + pieces - 1]);
      }
    }
  }
  std::fill(overlap_.begin(), overlap_.end(), 0);
  upper_bound_ = std::min(upper_bound_, outlook_[fewest_pieces_]);
}

std::vector<std::uint32_t> AssignmentSearch::run() {
  greedy();
  if (exhaustive_) improve();
  return best_;
}

void AssignmentSearch::greedy() {
  std::vector<Choice> taken;
  while (at_ < leaves_) {
    const std::vector<Choice> all = choices();
    EDL_CHECK(!all.empty(), "some choice keeps the pieces fewest");
    taken.push_back(*std::min_element(all.begin(), all.end()));
    take(taken.back());
  }
  best_ = now_;
  best_kept_ = kept_;
  for (; !taken.empty(); taken.pop_back()) give_back(taken.back());
}

void AssignmentSearch::improve() {
  if (at_ == leaves_) {
    best_ = now_;
    best_kept_ = kept_;
    return;
  }
  std::vector<Choice> all = choices();
  std::sort(all.begin(), all.end());
  for (const Choice& choice : all) {
    if (choice.bound <= best_kept_ || best_kept_ == upper_bound_ || tired()) return;
    take(choice);
    improve();
    give_back(choice);
  }
}

bool AssignmentSearch::tired() const { return work_ > kWorkMax; }

// All ways to give away a node that begins here and to stay above the best answer so far.
std::vector<AssignmentSearch::Choice> AssignmentSearch::choices() {
  std::vector<Choice> all;
  std::uint32_t end = at_;
  for (const std::uint32_t size : sizes_[at_]) {
    if (size > packing_.largest_room()) break;
    for (; end < at_ + size; ++end) {
      const std::uint32_t member = before_[end];
      if (member != kNobody && overlap_[member]++ == 0) touched_.push_back(member);
    }
    add_choices(size, all);
  }
  for (const std::uint32_t member : touched_) overlap_[member] = 0;
  touched_.clear();
  return all;
}

void AssignmentSearch::add_choices(std::uint32_t size, std::vector<Choice>& into) {
  std::int64_t others = kept_ + can_stay_;
  for (const std::uint32_t member : touched_) {
    others -=
        can_stay(member) - std::min(packing_.room(member), carried_[member] - overlap_[member]);
  }
  rooms_seen_.clear();
  for (std::uint32_t member = 0; member < carried_.size(); ++member) {
    if (packing_.room(member) < size) continue;
    ++work_;
    const Choice choice{bound(size, member, others), size, member};
    if (choice.bound <= best_kept_) continue;
    RoomSeen& seen = room_seen(size, member);
    // Members that carried nothing of what is left and have the same room are alike.
    const bool idle = carried_[member] == 0;
    if (!seen.fits || (idle && seen.idle)) continue;
    seen.idle = seen.idle || idle;
    into.push_back(choice);
  }
}

// `others` counts what can stay if nobody took the node.
std::int64_t AssignmentSearch::bound(std::uint32_t size, std::uint32_t member,
                                     std::int64_t others) const {
  const std::int64_t room = packing_.room(member);
  const std::int64_t overlap = overlap_[member];
  const std::int64_t later = carried_[member] - overlap;
  const std::int64_t by_room =
      others + overlap - std::min(room, later) + std::min(room - size, later);
  if (!exhaustive_) return by_room;
  const std::size_t width = fewest_pieces_ + 1;
  return std::min(by_room, kept_ + overlap + outlook_[(at_ + size) * width + pieces_left_ - 1]);
}

// Whether the pieces stay the fewest depends on a member's room only, not on who it is.
AssignmentSearch::RoomSeen& AssignmentSearch::room_seen(std::uint32_t size, std::uint32_t member) {
  const std::uint32_t room = packing_.room(member);
  for (RoomSeen& seen : rooms_seen_) {
    if (seen.room == room) return seen;
  }
  packing_.set_room(member, room - size);
  const bool fits = packing_.fewest_pieces(at_ + size) + 1 == pieces_left_;
  packing_.set_room(member, room);
  return rooms_seen_.emplace_back(RoomSeen{room, fits, false});
}

void AssignmentSearch::take(const Choice& choice) {
  set_room(choice.member, packing_.room(choice.member) - choice.size);
  for (const std::uint32_t end = at_ + choice.size; at_ < end; ++at_) {
    const std::uint32_t member = before_[at_];
    if (member != kNobody) set_carried(member, carried_[member] - 1);
    kept_ += member == choice.member ? 1 : 0;
    now_[at_] = choice.member;
  }
  --pieces_left_;
}

void AssignmentSearch::give_back(const Choice& choice) {
  for (const std::uint32_t begin = at_ - choice.size; at_ > begin; --at_) {
    const std::uint32_t member = before_[at_ - 1];
    if (member != kNobody) set_carried(member, carried_[member] + 1);
    kept_ -= member == choice.member ? 1 : 0;
  }
  set_room(choice.member, packing_.room(choice.member) + choice.size);
  ++pieces_left_;
}

void AssignmentSearch::set_room(std::uint32_t member, std::uint32_t room) {
  can_stay_ -= can_stay(member);
  packing_.set_room(member, room);
  can_stay_ += can_stay(member);
}

void AssignmentSearch::set_carried(std::uint32_t member, std::uint32_t carried) {
  can_stay_ -= can_stay(member);
  carried_[member] = carried;
  can_stay_ += can_stay(member);
}

std::int64_t AssignmentSearch::can_stay(std::uint32_t member) const {
  return std::min(packing_.room(member), carried_[member]);
}

}  // namespace edl::model
