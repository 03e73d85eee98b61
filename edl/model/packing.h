// How few pieces the canonical tree can be cut into when every piece must fit a member's room.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "edl/model/tree.h"

namespace edl::model {

// The members' rooms (how many more logical workers each can take) and what they allow for the
// leaves [from, V) that are still to be given away.
class Packing {
 public:
  Packing(std::uint32_t logical_workers, std::vector<std::uint32_t> rooms);

  // Not above the largest room at the beginning.
  void set_room(std::size_t member, std::uint32_t room);

  std::uint32_t largest_room() const { return largest_room_; }  // at the beginning
  std::uint32_t room(std::size_t member) const { return rooms_[member]; }
  std::size_t members() const { return rooms_.size(); }
  // The least number of nodes that [from, V) can be cut into; all rooms together hold them.
  std::uint32_t fewest_pieces(std::uint32_t from) const;

 private:
  // For each k, how many blocks of 2^k there are, or room for so many.
  using Blocks = std::array<std::uint32_t, 17>;

  std::uint32_t fewest(const Blocks& whole, const Blocks& room) const;
  std::uint32_t fewest_with(TreeNode edge, std::uint32_t from) const;

  std::uint32_t logical_workers_;
  std::vector<std::uint32_t> rooms_;
  std::vector<std::uint32_t> members_by_room_;
  std::uint32_t largest_room_;
  int sizes_;  // k below it: larger blocks find no room
  Blocks room_blocks_{};
  std::vector<Blocks> whole_blocks_;  // of the leaves from each place on
  std::vector<TreeNode> edges_;       // nodes that are no power of two
};

}  // namespace edl::model
