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

namespace edl::train {

class NodeSums {
 public:
  explicit NodeSums(const collective::Layout& layout) : layout_(layout) {}

  // The sums of another step begin; `parts` logical workers have samples in it.
  void begin(std::uint32_t parts);
  std::uint32_t parts() const { return parts_; }

  // Part v comes. The numbers of the first `streamed` segments from `first` on come by `fold`,
  // those of the others are in `room` when it is closed.
  void open(model::LogicalWorker v, std::size_t first = 0, std::size_t streamed = 0);
  // One span for each segment; valid until `close`.
  const std::vector<ByteSpan>& room() const { return room_.segments; }
  // Numbers of a segment from byte `offset` on, times `share`: each once. They are added at once to
  // all sums that they complete, so that they pass through memory once.
  void fold(std::size_t segment, std::uint64_t offset, ConstBytes numbers, float share);
  void close();
  // Between both: which sum the part completes, and where that comes to lie.
  model::TreeNode coming() const { return {coming_->key.first, coming_->key.second}; }
  ConstBytes coming_sum() const;

  // Whether the sum of this node is there.
  bool has(model::TreeNode node) const { return sums_.contains({node.lo, node.hi}); }
  ConstBytes sum(model::TreeNode node) const;
  // Which of these logical workers are missing for the largest sums that they can make together.
  // Sums that are of no use for them are forgotten.
  std::vector<model::LogicalWorker> missing(const std::vector<model::LogicalWorker>& carried);
  // Parts that are in what is kept.
  std::uint32_t computed() const;

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // lo, hi
  struct Storage {
    struct Free {
      void operator()(std::byte* bytes) const;
    };
    std::unique_ptr<std::byte[], Free> bytes;
    std::vector<ByteSpan> segments;
  };

  // A part that comes, with the sums that it completes: its neighbour's, then that of the neighbour
  // of both, and so on. The last of them becomes the sum of all.
  struct Coming {
    Key key;  // of the sum of all
    std::vector<Key> neighbours{};
    std::size_t first_streamed = 0;
    std::size_t streamed = 0;
  };

  const Storage& coming_storage() const;
  Storage take();
  void give_back(Storage storage);

  const collective::Layout& layout_;
  std::uint32_t parts_ = 0;
  std::map<Key, Storage> sums_;
  std::vector<Storage> free_;
  Storage room_;
  std::optional<Coming> coming_;
};

}  // namespace edl::train
