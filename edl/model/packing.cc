#include "edl/model/packing.h"

#include <algorithm>
#include <bit>

// Every node is a block: 2^k leaves that begin at a multiple of 2^k. Only when V is no power of
// two, the nodes along the right edge are not; they lie within one another, so at most one of them
// is a piece. Larger blocks are made of smaller ones without rest. So nothing is lost by giving
// away the largest blocks first: of each size as many as are whole and find room.

namespace edl::model {
namespace {

std::uint32_t largest_block(std::uint32_t from, std::uint32_t end) {
  const std::uint32_t fitting = std::bit_floor(end - from);
  const std::uint32_t aligned = from & (~from + 1);
  return from == 0 ? fitting : std::min(fitting, aligned);
}

}  // namespace

Packing::Packing(std::uint32_t logical_workers, std::vector<std::uint32_t> rooms)
    : logical_workers_(logical_workers),
      rooms_(std::move(rooms)),
      members_by_room_(std::size_t{logical_workers} + 1),
      whole_blocks_(std::size_t{logical_workers} + 1) {
  largest_room_ = *std::max_element(rooms_.begin(), rooms_.end());
  EDL_CHECK(largest_room_ <= logical_workers);
  sizes_ = static_cast<int>(std::bit_width(largest_room_));
  for (const std::uint32_t room : rooms_) {
    ++members_by_room_[room];
    for (int k = 0; k < sizes_; ++k) room_blocks_[k] += room >> k;
  }
  for (std::uint32_t from = logical_workers; from-- > 0;) {
    const std::uint32_t block = largest_block(from, logical_workers);
    whole_blocks_[from] = whole_blocks_[from + block];
    for (int k = 0; k < sizes_; ++k) whole_blocks_[from][k] += block >> k;
  }
  for (TreeNode node{0, logical_workers}; !std::has_single_bit(node.size()); node = node.right()) {
    edges_.push_back(node);
  }
}

void Packing::set_room(std::size_t member, std::uint32_t room) {
  EDL_CHECK(room <= largest_room_);
  std::uint32_t& present = rooms_[member];
  --members_by_room_[present];
  ++members_by_room_[room];
  for (int k = 0; k < sizes_; ++k) room_blocks_[k] += (room >> k) - (present >> k);
  present = room;
}

std::uint32_t Packing::fewest_pieces(std::uint32_t from) const {
  std::uint32_t least = fewest(whole_blocks_[from], room_blocks_);
  for (const TreeNode edge : edges_) {
    if (edge.lo >= from) least = std::min(least, fewest_with(edge, from));
  }
  return least;
}

std::uint32_t Packing::fewest(const Blocks& whole, const Blocks& room) const {
  std::uint32_t pieces = 0;
  std::uint32_t given = 0;  // in blocks of 2^k
  for (int k = sizes_ - 1; k >= 0; --k) {
    given *= 2;
    const std::uint32_t possible = std::min(whole[k], room[k]);
    if (possible <= given) continue;
    pieces += possible - given;
    given = possible;
  }
  EDL_CHECK(given == whole[0], "the rooms hold all");
  return pieces;
}

// When `edge` is one piece: whoever has room for it may take it.
std::uint32_t Packing::fewest_with(TreeNode edge, std::uint32_t from) const {
  std::uint32_t least = logical_workers_;
  Blocks whole = whole_blocks_[from];
  for (int k = 0; k < sizes_; ++k) whole[k] -= whole_blocks_[edge.lo][k];
  for (std::uint32_t room = edge.size(); room <= largest_room_; ++room) {
    if (members_by_room_[room] == 0) continue;
    Blocks left = room_blocks_;
    for (int k = 0; k < sizes_; ++k) left[k] -= (room >> k) - ((room - edge.size()) >> k);
    least = std::min(least, 1 + fewest(whole, left));
  }
  return least;
}

}  // namespace edl::model
