// The search behind assignment.h, for rooms that are already known.
//
// The tree is given away from left to right, one node at a time, and only nodes that still allow
// the fewest pieces are given. What is left to search for is the fewest moves: first greedily,
// then, unless there are very many logical workers, by branch and bound within a fixed amount of
// work.
#pragma once

#include <cstdint>
#include <vector>

#include "edl/model/packing.h"

namespace edl::model {

inline constexpr std::uint32_t kNobody = ~std::uint32_t{0};

class AssignmentSearch {
 public:
  // `before` tells who carried each logical worker, or kNobody; `rooms` together hold all.
  AssignmentSearch(std::vector<std::uint32_t> before, std::vector<std::uint32_t> rooms);

  // Who carries each logical worker now. Called once.
  std::vector<std::uint32_t> run();

  bool proven() const { return best_kept_ == upper_bound_ || (exhaustive_ && !tired()); }
  std::uint64_t work() const { return work_; }

 private:
  // The next `size` leaves go to `member`; then at most `bound` logical workers can stay where
  // they are. The best choice is the least one.
  struct Choice {
    std::int64_t bound;
    std::uint32_t size;
    std::uint32_t member;

    bool operator<(const Choice& other) const;
  };
  // What is known about members with so much room, for one size.
  struct RoomSeen {
    std::uint32_t room;
    bool fits;
    bool idle;
  };

  void make_outlook();
  void greedy();
  void improve();
  bool tired() const;

  std::vector<Choice> choices();
  void add_choices(std::uint32_t size, std::vector<Choice>& into);
  std::int64_t bound(std::uint32_t size, std::uint32_t member, std::int64_t others) const;
  RoomSeen& room_seen(std::uint32_t size, std::uint32_t member);

  void take(const Choice& choice);
  void give_back(const Choice& choice);
  void set_room(std::uint32_t member, std::uint32_t room);
  void set_carried(std::uint32_t member, std::uint32_t carried);
  std::int64_t can_stay(std::uint32_t member) const;

  const std::uint32_t leaves_;
  const std::vector<std::uint32_t> before_;
  const bool exhaustive_;
  // Sizes of the nodes that begin at each leaf, ascending.
  std::vector<std::vector<std::uint32_t>> sizes_;
  std::vector<std::int64_t> outlook_;

  // Where the search stands: leaves before `at_` are given away.
  Packing packing_;
  std::vector<std::uint32_t> carried_;  // by each member before, of the leaves from `at_` on
  std::vector<std::uint32_t> now_;
  std::uint32_t at_ = 0;
  const std::uint32_t fewest_pieces_;
  std::uint32_t pieces_left_;
  std::int64_t kept_ = 0;
  std::int64_t can_stay_ = 0;  // the sum over members

  // Scratch of choices(): each member's overlap with the node, and the members that have one.
  std::vector<std::uint32_t> overlap_;
  std::vector<std::uint32_t> touched_;
  std::vector<RoomSeen> rooms_seen_;

  std::vector<std::uint32_t> best_;
  std::int64_t best_kept_ = -1;
  std::int64_t upper_bound_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace edl::model
