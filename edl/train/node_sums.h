// The partial sums that one member makes of its own parts, in the order of the canonical tree. They
// stay valid when the view changes in the middle of a step: what this member has computed for the
// same samples is not computed again.
//
// One thread at a time uses it: the training thread while it computes, the loop in between.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "edl/collective/layout.h"
#include "edl/model/tree.h"
#include "edl/train/trainee.h"

namespace edl::train {

// Memory for numbers of a step, aligned for all who read them in place. What nobody has written to
// is zero, and takes no memory yet.
struct FreeNumbers {
  void* allocated = nullptr;
  void operator()(std::byte*) const;
};
using Numbers = std::unique_ptr<std::byte[], FreeNumbers>;
Numbers zero_numbers(std::size_t bytes);

class NodeSums {
 public:
  explicit NodeSums(const collective::Layout& layout) : layout_(layout) {}

  // The sums of another step begin; `parts` logical workers have samples in it.
  void begin(std::uint32_t parts);
  std::uint32_t parts() const { return parts_; }

  // How a part comes: the numbers of `count` segments from `first` on by `fold`, those of the
  // others are in `room` when it is closed. Sums of these nodes are made in memory of their own;
  // others may stay where gradients are held, until the next part is added.
  struct Streamed {
    std::size_t first = 0;
    std::size_t count = 0;
    std::span<const model::TreeNode> whole{};
    // The sums that it is added to stay what they are until it is closed.
    bool spares = false;
  };
  void open(model::LogicalWorker v, const Streamed& streamed);
  // One span for each segment; valid until `close`.
  const std::vector<ByteSpan>& room() const { return room_.segments; }
  // Numbers of a segment from byte `offset` on: each once. They are added at once to all sums that
  // they complete, so that they pass through memory once.
  void fold(std::size_t segment, std::uint64_t offset, GradientPiece piece);
  // The sums that it was added to are forgotten, unless they were spared and stay.
  void close(bool they_stay = false);
  // Between both: which sum the part completes, and where that comes to lie.
  model::TreeNode coming() const { return {coming_->key.first, coming_->key.second}; }
  ConstBytes coming_sum();

  // Whether the sum of this node is there.
  bool has(model::TreeNode node) const { return sums_.contains({node.lo, node.hi}); }
  ConstBytes sum(model::TreeNode node);
  // Gives the memory of a sum away for other memory of that size; the sum is not here any more.
  void exchange(model::TreeNode node, Numbers& other);
  // Which of these logical workers are missing for the largest sums that they can make together.
  // Sums that are of no use for them are forgotten.
  std::vector<model::LogicalWorker> missing(const std::vector<model::LogicalWorker>& carried);

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // lo, hi
  using Place = std::pair<std::size_t, std::uint64_t>;  // segment, offset in it
  struct Storage {
    Numbers bytes;
    std::vector<ByteSpan> segments;
    std::map<Place, GradientPiece> kept{};  // what is not there, but where it was computed
  };

  // A part that comes, with the sums that it completes: its neighbour's, then that of the neighbour
  // of both, and so on. The last of them becomes the sum of all.
  struct Coming {
    Key key{};  // of the sum of all
    std::vector<Key> neighbours{};
    std::size_t first_streamed = 0;
    std::size_t streamed = 0;
    bool keeps = false;   // what can be kept
    bool spares = false;  // the neighbours
  };

  Storage& coming_storage();
  GradientPiece kept_at(Storage& from, const Place& at, std::size_t bytes);
  void write_kept(Storage& storage);
  Storage storage_of(Numbers bytes) const;
  Storage take();
  void give_back(Storage storage);

  const collective::Layout& layout_;
  std::uint32_t parts_ = 0;
  std::map<Key, Storage> sums_;
  std::vector<Storage> free_;
  Storage room_;
  std::optional<Coming> coming_;
  // While a piece is folded: what was kept of each neighbour, and where their sums are.
  std::vector<GradientPiece> added_;
  std::vector<const std::byte*> added_sums_;
};

}  // namespace edl::train
