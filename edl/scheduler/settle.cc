#include "edl/scheduler/settle.h"

#include <algorithm>

namespace edl::scheduler {
namespace {

constexpr int kNodesFreedMax = 16;  // in one decision: each move stops a job for a moment
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class Settling {
 public:
  Settling(Draft& draft, const Sizes& sizes)
      : draft_(draft), jobs_(draft.snapshot().jobs), sizes_(sizes) {}

  void run() {
    JobOrder changed;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (sizes_[j] > 0 && !stays(j)) changed.push_back(j);
    }
    std::stable_sort(changed.begin(), changed.end(),
                     [&](std::size_t a, std::size_t b) { return sizes_[a] > sizes_[b]; });
    for (const std::size_t j : changed) {
      std::uint32_t workers = sizes_[j];
      while (workers > 0 && !move_to(j, workers)) workers = next_below(jobs_[j], workers);
    }
  }

 private:
  // The next smaller size that buys something; 0 below the minimum.
  static std::uint32_t next_below(const Job& job, std::uint32_t workers) {
    if (workers <= job.min) return 0;
    return std::max(useful_size(job.logical_workers, workers - 1), job.min);
  }
  std::uint32_t fewest_nodes(std::size_t j, std::uint32_t workers) const {
    return packed_nodes(draft_.snapshot(), jobs_[j], workers);
  }
  // Whether it is done with already: as it was, or smaller on no more nodes than it must have.
  bool stays(std::size_t j) {
    const std::uint32_t has = workers_of(jobs_[j].current);
    if (has == 0 || !draft_.put(j, jobs_[j].current)) return false;
    if (has == sizes_[j]) return true;
    if (has < sizes_[j]) return false;
    draft_.resize(j, sizes_[j]);
    return draft_.shares(j).size() <= fewest_nodes(j, sizes_[j]);
  }
  // From where it is, or packed anew when that takes fewer nodes.
  bool move_to(std::size_t j, std::uint32_t workers) {
    const Shares before = draft_.shares(j);
    const bool near = draft_.resize(j, workers);
    const Shares grown = draft_.shares(j);
    if (near && grown.size() <= fewest_nodes(j, workers)) return true;
    while (true) {
      const bool packed = draft_.place(j, workers, Packing::kTight);
      const std::size_t takes = draft_.shares(j).size();
      if (packed && takes <= fewest_nodes(j, workers)) return true;
      if (near || packed) {
        draft_.clear(j);
        if (free_a_node(jobs_[j])) continue;
      }
      // A job that was moved off a node may stand where this one was: then it is placed anew.
      if (near && (!packed || grown.size() <= takes) && draft_.put(j, grown)) return true;
      if (draft_.place(j, workers, Packing::kTight)) return true;
      draft_.put(j, before);
      return false;
    }
  }

  // Moves the jobs of the least used node that can be emptied to other nodes in use.
  bool free_a_node(const Job& for_job) {
    if (freed_ == kNodesFreedMax) return false;
    const auto& nodes = draft_.snapshot().nodes;
    std::vector<std::vector<std::size_t>> on(nodes.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (const Share& share : draft_.shares(j)) on[share.node].push_back(j);
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const bool fits = for_job.kind.empty() || for_job.kind == nodes[n].kind;
      if (fits && !on[n].empty() && used(n) * 2 <= nodes[n].slots) order.push_back(n);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return used(a) < used(b); });
    for (const std::uint32_t n : order) {
      if (!empty(n, on[n])) continue;
      ++freed_;
      return true;
    }
    return false;
  }
  std::uint32_t used(std::uint32_t node) const {
    return draft_.snapshot().nodes[node].slots - draft_.free_on(node);
  }
  bool empty(std::uint32_t node, const std::vector<std::size_t>& there) {
    std::vector<Shares> before;
    for (const std::size_t j : there) {
      before.push_back(draft_.shares(j));
      const bool movable = before.back().size() == 1 && !jobs_[j].near_end &&
                           draft_.snapshot().now >= jobs_[j].frozen_until;
      const std::uint32_t to = movable ? other_node(j, node) : kNone;
      if (to != kNone && draft_.put(j, {{to, before.back()[0].count}})) continue;
      for (std::size_t i = 0; i < before.size(); ++i) draft_.put(there[i], before[i]);
      return false;
    }
    return true;
  }
  // The fullest node in use that has room for it.
  std::uint32_t other_node(std::size_t j, std::uint32_t but) const {
    const auto& nodes = draft_.snapshot().nodes;
    const std::uint32_t slots = draft_.workers(j) * jobs_[j].slots_per_worker;
    std::uint32_t best = kNone;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const bool kind = jobs_[j].kind.empty() || jobs_[j].kind == nodes[n].kind;
      if (n == but || !kind || used(n) == 0 || draft_.free_on(n) < slots) continue;
      if (best == kNone || draft_.free_on(n) < draft_.free_on(best)) best = n;
    }
    return best;
  }

  Draft& draft_;
  const std::vector<Job>& jobs_;
  const Sizes& sizes_;
  int freed_ = 0;
};

}  // namespace

void settle(Draft& draft, const Sizes& sizes) { Settling(draft, sizes).run(); }

}  // namespace edl::scheduler
