#include "edl/train/node_sums.h"

#include <algorithm>
#include <cstring>
#include <new>

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

void NodeSums::Storage::Free::operator()(std::byte* memory) const {
  ::operator delete[](memory, std::align_val_t(collective::kAlignment));
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
  Storage storage;
  const std::size_t bytes = layout_.sum_bytes();
  storage.bytes.reset(
      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(collective::kAlignment))));
  std::memset(storage.bytes.get(), 0, bytes);  // gaps too: what is sent is always the same
  for (std::size_t i = 0; i < layout_.segments().size(); ++i) {
    const collective::Range range = layout_.sums(i);
    storage.segments.emplace_back(storage.bytes.get() + range.offset, range.bytes);
  }
  return storage;
}

void NodeSums::give_back(Storage storage) {
  if (storage.bytes) free_.push_back(std::move(storage));
}

void NodeSums::open(model::LogicalWorker v, std::size_t first, std::size_t streamed) {
  EDL_CHECK(v.value() < parts_ && !coming_);
  if (!room_.bytes) room_ = take();
  model::TreeNode node{v.value(), v.value() + 1};
  Coming coming{{}, {}, first, streamed};
  while (const auto parent = parent_of(node, parts_)) {
    const model::TreeNode other = parent->left() == node ? parent->right() : parent->left();
    if (!has(other)) break;
    coming.neighbours.emplace_back(other.lo, other.hi);
    node = *parent;
  }
  coming.key = {node.lo, node.hi};
  coming_ = std::move(coming);
}

void NodeSums::fold(std::size_t segment, std::uint64_t offset, ConstBytes numbers, float share) {
  std::vector<const std::byte*> others;
  for (const Key& key : coming_->neighbours) {
    others.push_back(sums_.at(key).segments[segment].data() + offset);
  }
  collective::fold(collective::sum_element(layout_.segments()[segment].element), numbers, share,
                   others, coming_storage().segments[segment].subspan(offset, numbers.size()));
}

const NodeSums::Storage& NodeSums::coming_storage() const {
  return coming_->neighbours.empty() ? room_ : sums_.at(coming_->neighbours.back());
}

ConstBytes NodeSums::coming_sum() const {
  return {coming_storage().bytes.get(), layout_.sum_bytes()};
}

void NodeSums::close() {
  const auto& [key, neighbours, first, streamed] = *coming_;
  if (neighbours.empty()) {
    sums_[key] = std::exchange(room_, {});
    return coming_.reset();
  }
  for (std::size_t i = 0; i < room_.segments.size(); ++i) {
    if (i < first || i >= first + streamed) fold(i, 0, room_.segments[i], 1);
  }
  Storage sum = std::move(sums_.at(neighbours.back()));
  for (const Key& added : neighbours) {
    give_back(std::move(sums_.at(added)));
    sums_.erase(added);
  }
  sums_[key] = std::move(sum);
  coming_.reset();
}

ConstBytes NodeSums::sum(model::TreeNode node) const {
  const auto found = sums_.find({node.lo, node.hi});
  EDL_CHECK(found != sums_.end());
  return {found->second.bytes.get(), layout_.sum_bytes()};
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

std::uint32_t NodeSums::computed() const {
  std::uint32_t count = 0;
  for (const auto& [key, storage] : sums_) count += key.second - key.first;
  return count;
}

}  // namespace edl::train
