#include "edl/train/node_sums.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace edl::train {
namespace {

// The node of the tree over `parts` whose child `node` is; nothing for the root.
std::optional<model::TreeNode> parent_of(model::TreeNode node, std::uint32_t parts) {
  model::TreeNode at{0, parts};
  if (at == node) return std::nullopt;
  while (true) {
    const model::TreeNode left = at.left();
    const model::TreeNode right = at.right();
    if (left == node || right == node) return at;
    at = node.hi <= left.hi ? left : right;
  }
}

}  // namespace

void FreeNumbers::operator()(std::byte*) const { std::free(allocated); }

Numbers zero_numbers(std::size_t bytes) {
  std::size_t room = bytes + collective::kAlignment;
  void* const allocated = std::calloc(room, 1);
  EDL_CHECK(allocated != nullptr, "no memory for the numbers of a step");
  void* aligned = allocated;
  EDL_CHECK(std::align(collective::kAlignment, bytes, aligned, room) != nullptr);
  return Numbers(static_cast<std::byte*>(aligned), FreeNumbers{allocated});
}

void NodeSums::begin(std::uint32_t parts) {
  parts_ = parts;
  for (auto& [key, storage] : sums_) give_back(std::move(storage));
  sums_.clear();
}

NodeSums::Storage NodeSums::take() {
  if (!free_.empty()) {
    Storage storage = std::move(free_.back());
    free_.pop_back();
    return storage;
  }
  // Gaps are zero too: what is sent is always the same.
  return storage_of(zero_numbers(layout_.sum_bytes()));
}

NodeSums::Storage NodeSums::storage_of(Numbers bytes) const {
  Storage storage{std::move(bytes), {}};
  for (std::size_t i = 0; i < layout_.segments().size(); ++i) {
    const collective::Range range = layout_.sums(i);
    storage.segments.emplace_back(storage.bytes.get() + range.offset, range.bytes);
  }
  return storage;
}

void NodeSums::give_back(Storage storage) {
  storage.kept.clear();
  if (storage.bytes) free_.push_back(std::move(storage));
}

void NodeSums::open(model::LogicalWorker v, const Streamed& streamed) {
  EDL_CHECK(v.value() < parts_ && !coming_);
  if (!room_.bytes) room_ = take();
  model::TreeNode node{v.value(), v.value() + 1};
  Coming coming{.first_streamed = streamed.first, .streamed = streamed.count};
  while (const auto parent = parent_of(node, parts_)) {
    const model::TreeNode other = parent->left() == node ? parent->right() : parent->left();
    if (!has(other)) break;
    // A part that is added to a sum is multiplied before; that is rare.
    const bool is_part = other.hi - other.lo == 1;
    if (is_part && !coming.neighbours.empty()) write_kept(sums_.at({other.lo, other.hi}));
    coming.neighbours.emplace_back(other.lo, other.hi);
    node = *parent;
  }
  coming.key = {node.lo, node.hi};
  coming.keeps = std::ranges::find(streamed.whole, node) == streamed.whole.end();
  coming.spares = streamed.spares;
  coming_ = std::move(coming);
}

void NodeSums::fold(std::size_t segment, std::uint64_t offset, GradientPiece piece) {
  const Place at{segment, offset};
  if (coming_->keeps && coming_->neighbours.empty() && piece.holder) {
    room_.kept[at] = std::move(piece);
    return;
  }
  collective::Addends addends{.one = {piece.numbers.data(), piece.share}};
  for (const Key& key : coming_->neighbours) {
    Storage& neighbour = sums_.at(key);
    const GradientPiece& one = added_.emplace_back(kept_at(neighbour, at, piece.numbers.size()));
    if (one.share != 1) {
      addends.other = {one.numbers.data(), one.share};  // of the first neighbour, a part
    } else {
      added_sums_.push_back(one.holder ? one.numbers.data()
                                       : neighbour.segments[segment].data() + offset);
    }
  }
  addends.sums = added_sums_;
  const collective::Element element = collective::sum_element(layout_.segments()[segment].element);
  const bool stays = coming_->keeps && !coming_->spares && !added_.empty() &&
                     added_.back().holder != nullptr && added_.back().holder->is_alone();
  ByteSpan into = coming_storage().segments[segment].subspan(offset, piece.numbers.size());
  if (stays) into = {const_cast<std::byte*>(added_.back().numbers.data()), into.size()};
  collective::fold(element, addends, into);
  if (stays) {
    GradientPiece& sum = coming_storage().kept[at] = std::move(added_.back());
    sum.share = 1;
  }
  added_.clear();
  added_sums_.clear();
}

// What is kept for that place, and no longer there unless it is spared; nothing when it is written
// there.
GradientPiece NodeSums::kept_at(Storage& from, const Place& at, std::size_t bytes) {
  const auto& [segment, offset] = at;
  auto found = from.kept.lower_bound(at);
  if (found != from.kept.end() && found->first == at && found->second.numbers.size() == bytes) {
    return coming_->spares ? found->second : std::move(from.kept.extract(found).mapped());
  }
  const auto overlaps = [&](const auto& entry) {
    const auto& [place, piece] = entry;
    return place.first == segment && place.second < offset + bytes &&
           offset < place.second + piece.numbers.size();
  };
  const bool is_cut_otherwise = (found != from.kept.end() && overlaps(*found)) ||
                                (found != from.kept.begin() && overlaps(*std::prev(found)));
  if (is_cut_otherwise) write_kept(from);
  return {};
}

void NodeSums::write_kept(Storage& storage) {
  for (const auto& [place, piece] : std::exchange(storage.kept, {})) {
    const auto& [segment, offset] = place;
    collective::fold(collective::sum_element(layout_.segments()[segment].element),
                     {.one = {piece.numbers.data(), piece.share}},
                     storage.segments[segment].subspan(offset, piece.numbers.size()));
  }
}

NodeSums::Storage& NodeSums::coming_storage() {
  const bool is_new = coming_->neighbours.empty() || coming_->spares;
  return is_new ? room_ : sums_.at(coming_->neighbours.back());
}

ConstBytes NodeSums::coming_sum() { return {coming_storage().bytes.get(), layout_.sum_bytes()}; }

void NodeSums::close(bool they_stay) {
  const auto& [key, neighbours, first, streamed, keeps, spares] = *coming_;
  EDL_CHECK(spares || !they_stay);
  if (neighbours.empty()) {
    sums_[key] = std::exchange(room_, {});
    return coming_.reset();
  }
  for (std::size_t i = 0; i < room_.segments.size(); ++i) {
    if (i < first || i >= first + streamed) fold(i, 0, {room_.segments[i]});
  }
  Storage sum = std::move(coming_storage());
  for (const Key& added : neighbours) {
    if (they_stay) break;
    give_back(std::move(sums_.at(added)));
    sums_.erase(added);
  }
  sums_[key] = std::move(sum);
  coming_.reset();
}

ConstBytes NodeSums::sum(model::TreeNode node) {
  const auto found = sums_.find({node.lo, node.hi});
  EDL_CHECK(found != sums_.end());
  write_kept(found->second);
  return {found->second.bytes.get(), layout_.sum_bytes()};
}

void NodeSums::exchange(model::TreeNode node, Numbers& other) {
  const auto found = sums_.find({node.lo, node.hi});
  EDL_CHECK(found != sums_.end());
  write_kept(found->second);
  other.swap(found->second.bytes);
  give_back(storage_of(std::move(found->second.bytes)));
  sums_.erase(found);
}

std::vector<model::LogicalWorker> NodeSums::missing(
    const std::vector<model::LogicalWorker>& carried) {
  std::vector<model::LogicalWorker> filled;
  for (const model::LogicalWorker v : carried) {
    if (v.value() < parts_) filled.push_back(v);
  }
  std::vector<model::LogicalWorker> missing;
  if (parts_ == 0) return missing;
  const std::vector<model::TreeNode> nodes = model::cover(filled, parts_);
  const auto lies_in = [](const Key& key, const model::TreeNode& node) {
    return node.lo <= key.first && key.second <= node.hi;
  };
  for (auto entry = sums_.begin(); entry != sums_.end();) {
    const bool is_used = std::any_of(nodes.begin(), nodes.end(), [&](const model::TreeNode& node) {
      return lies_in(entry->first, node);
    });
    if (!is_used) give_back(std::move(entry->second));
    entry = is_used ? std::next(entry) : sums_.erase(entry);
  }
  for (const model::LogicalWorker v : filled) {
    const bool is_there = std::any_of(sums_.begin(), sums_.end(), [&](const auto& entry) {
      return entry.first.first <= v.value() && v.value() < entry.first.second;
    });
    if (!is_there) missing.push_back(v);
  }
  return missing;
}

}  // namespace edl::train
