// The partial sums that one member makes of its own parts, in the order of the canonical tree. They
// stay valid when the view changes in the middle of a step: what this member has computed for the
// same samples is not computed again.
//
// One thread at a time uses it: the training thread while it computes, the loop in between.
#pragma once

#include <map>
#include <memory>
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

  // Room for the sums of one part, with one span for each segment; valid until `add`.
  const std::vector<ByteSpan>& scratch();
  // What is in `scratch` is the sum of part v. Adds what can be added.
  void add(model::LogicalWorker v);

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

  Storage take();
  void give_back(Storage storage);
  void merge(model::TreeNode node);

  const collective::Layout& layout_;
  std::uint32_t parts_ = 0;
  std::map<Key, Storage> sums_;
  std::vector<Storage> free_;
  Storage scratch_;
};

}  // namespace edl::train
