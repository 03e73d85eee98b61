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

const std::vector<ByteSpan>& NodeSums::scratch() {
  if (!scratch_.bytes) scratch_ = take();
  return scratch_.segments;
}

void NodeSums::add(model::LogicalWorker v) {
  EDL_CHECK(v.value() < parts_ && scratch_.bytes);
  const model::TreeNode leaf{v.value(), v.value() + 1};
  sums_[{leaf.lo, leaf.hi}] = std::exchange(scratch_, {});
  merge(leaf);
}

// Adds a sum to its neighbour, if that is there, and so on upwards.
void NodeSums::merge(model::TreeNode node) {
  while (const auto parent = parent_of(node, parts_)) {
    const auto left = sums_.find({parent->left().lo, parent->left().hi});
    const auto right = sums_.find({parent->right().lo, parent->right().hi});
    if (left == sums_.end() || right == sums_.end()) return;
    Storage sum = std::move(left->second);
    Storage other = std::move(right->second);
    sums_.erase(left);
    sums_.erase(right);
    for (std::size_t i = 0; i < sum.segments.size(); ++i) {
      const collective::Element element = layout_.segments()[i].element;
      collective::add(collective::sum_element(element), sum.segments[i], other.segments[i],
                      sum.segments[i]);
    }
    give_back(std::move(other));
    sums_[{parent->lo, parent->hi}] = std::move(sum);
    node = *parent;
  }
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
