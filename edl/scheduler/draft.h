// A plan in the making: what is free, and who has what so far. Nothing that a policy does to it can
// break the rules that hold for all: no node and no quota is exceeded, a job has none or min to max
// workers, on nodes of its kind.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "edl/scheduler/plan.h"

namespace edl::scheduler {

enum class Packing {
  kMostFree,  // node by node, the emptiest first
  kTight,     // the fullest node that holds all; else whole nodes first, and the rest tightly;
              // of nodes that are as free, those of the same failure domain
};

class Draft {
 public:
  explicit Draft(const Snapshot& snapshot);

  const Snapshot& snapshot() const { return *snapshot_; }
  const Shares& shares(std::size_t job) const { return shares_[job]; }
  std::uint32_t workers(std::size_t job) const { return workers_of(shares_[job]); }
  std::uint64_t free_slots() const { return free_total_; }
  std::uint32_t free_on(std::size_t node) const { return free_[node]; }
  // How many workers the tenant's quota and the free slots leave room for; not all need to fit.
  std::uint32_t room_for(std::size_t job) const;

  // Exactly these, when all of them fit. Replaces what the job has in the draft.
  bool put(std::size_t job, const Shares& shares);
  // So many, on nodes of the draft's choice; none when they do not fit. Replaces what it has.
  bool place(std::size_t job, std::uint32_t workers, Packing packing);
  // Brings the job to so many from what it has: more on its own nodes first, fewer from where it
  // has fewest. Unchanged when they do not fit.
  bool resize(std::size_t job, std::uint32_t workers);
  void clear(std::size_t job);

  void explain(std::size_t job, std::string reason) { reasons_[job] = std::move(reason); }
  void note(std::size_t job, double value) { notes_[job] = value; }

  Plan finish() &&;

 private:
  void number_domains();
  bool allowed(const Job& job, std::uint32_t node) const;
  std::uint32_t room_on(const Job& job, std::uint32_t node) const;
  std::uint32_t emptiest(const Job& job, std::uint32_t domain) const;
  std::uint32_t tightest(const Job& job, std::uint32_t workers, std::uint32_t domain) const;
  std::uint32_t nearest(const Job& job, const std::set<std::uint32_t>& alike,
                        std::uint32_t domain) const;
  Shares spread(const Job& job, std::uint32_t workers, Packing packing, const Shares& beside);
  bool grow(std::size_t job, Shares shares, std::uint32_t more);
  void take(const Job& job, const Share& share);
  void give_back(const Job& job, const Share& share);
  void set_free(std::uint32_t node, std::uint32_t slots);
  bool counts(const Job& job, std::uint32_t workers) const;

  const Snapshot* snapshot_;
  std::vector<std::uint32_t> free_;
  std::vector<std::set<std::uint32_t>> nodes_by_free_;
  std::vector<std::uint32_t> domain_;       // of each node, numbered
  std::vector<std::uint64_t> domain_free_;  // slots of each
  std::uint64_t free_total_ = 0;
  std::vector<std::uint64_t> quota_left_;
  std::vector<Shares> shares_;
  std::vector<std::string> reasons_;
  std::vector<std::optional<double>> notes_;
};

}  // namespace edl::scheduler
