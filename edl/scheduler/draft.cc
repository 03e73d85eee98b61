#include "edl/scheduler/draft.h"

#include <algorithm>
#include <unordered_map>

#include "edl/base/check.h"

namespace edl::scheduler {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr int kNodesLookedAt = 64;  // of equally free ones, for a failure domain

void add_to(Shares& shares, std::uint32_t node, std::uint32_t count) {
  for (Share& share : shares) {
    if (share.node == node) {
      share.count += count;
      return;
    }
  }
  shares.push_back({node, count});
}

// Without so many, taken from where there are fewest.
Shares fewer(Shares shares, std::uint32_t drop) {
  while (drop > 0) {
    const auto least =
        std::min_element(shares.begin(), shares.end(),
                         [](const Share& a, const Share& b) { return a.count < b.count; });
    const std::uint32_t gone = std::min(drop, least->count);
    least->count -= gone;
    drop -= gone;
    if (least->count == 0) shares.erase(least);
  }
  return shares;
}

}  // namespace

Draft::Draft(const Snapshot& snapshot)
    : snapshot_(&snapshot),
      shares_(snapshot.jobs.size()),
      reasons_(snapshot.jobs.size()),
      notes_(snapshot.jobs.size()) {
  std::uint32_t most = 0;
  for (const Node& node : snapshot.nodes) most = std::max(most, node.slots);
  nodes_by_free_.resize(most + 1);
  free_.resize(snapshot.nodes.size());
  for (std::uint32_t n = 0; n < free_.size(); ++n) {
    free_[n] = snapshot.nodes[n].slots;
    nodes_by_free_[free_[n]].insert(nodes_by_free_[free_[n]].end(), n);
    free_total_ += free_[n];
  }
  number_domains();
  for (const Tenant& tenant : snapshot.tenants) quota_left_.push_back(tenant.quota);
}

void Draft::number_domains() {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  domain_.reserve(free_.size());
  for (std::uint32_t n = 0; n < free_.size(); ++n) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    domain_.push_back(numbers.emplace(snapshot_->nodes[n].domain, next).first->second);
    domain_free_.resize(numbers.size());
    domain_free_[domain_[n]] += free_[n];
  }
}

std::uint32_t Draft::room_for(std::size_t job) const {
  const Job& it = snapshot_->jobs[job];
  std::uint64_t slots = free_total_;
  if (it.tenant) slots = std::min(slots, quota_left_[*it.tenant]);
  const std::uint64_t workers = slots / it.slots_per_worker;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(workers, it.max));
}

bool Draft::allowed(const Job& job, std::uint32_t node) const {
  return job.kind.empty() || job.kind == snapshot_->nodes[node].kind;
}

std::uint32_t Draft::room_on(const Job& job, std::uint32_t node) const {
  return allowed(job, node) ? free_[node] / job.slots_per_worker : 0;
}

void Draft::set_free(std::uint32_t node, std::uint32_t slots) {
  nodes_by_free_[free_[node]].erase(node);
  free_total_ = free_total_ - free_[node] + slots;
  domain_free_[domain_[node]] = domain_free_[domain_[node]] - free_[node] + slots;
  free_[node] = slots;
  nodes_by_free_[slots].insert(node);
}

void Draft::take(const Job& job, const Share& share) {
  const std::uint32_t slots = share.count * job.slots_per_worker;
  set_free(share.node, free_[share.node] - slots);
  if (job.tenant) quota_left_[*job.tenant] -= slots;
}

void Draft::give_back(const Job& job, const Share& share) {
  const std::uint32_t slots = share.count * job.slots_per_worker;
  set_free(share.node, free_[share.node] + slots);
  if (job.tenant) quota_left_[*job.tenant] += slots;
}

void Draft::clear(std::size_t job) {
  for (const Share& share : shares_[job]) give_back(snapshot_->jobs[job], share);
  shares_[job].clear();
}

bool Draft::counts(const Job& job, std::uint32_t workers) const {
  if (workers < job.min || workers > job.max) return false;
  return !job.tenant || std::uint64_t{workers} * job.slots_per_worker <= quota_left_[*job.tenant];
}

bool Draft::put(std::size_t job, const Shares& shares) {
  const Job& it = snapshot_->jobs[job];
  clear(job);
  if (!counts(it, workers_of(shares))) return false;
  for (const Share& share : shares) {
    if (share.count == 0 || share.node >= free_.size() || share.count > room_on(it, share.node)) {
      clear(job);
      return false;
    }
    take(it, share);
    shares_[job].push_back(share);
  }
  return true;
}

// Of nodes that are as free: one in the domain that the job is in already, so that few failures
// meet it; before it is in any, one in the domain with most room for the rest of it.
std::uint32_t Draft::nearest(const Job& job, const std::set<std::uint32_t>& alike,
                             std::uint32_t domain) const {
  const auto worth = [&](std::uint32_t node) {
    if (domain == kNone) return domain_free_[domain_[node]];
    return std::uint64_t{domain_[node] == domain ? 1U : 0U};
  };
  std::uint32_t best = kNone;
  int looked_at = 0;
  for (const std::uint32_t node : alike) {
    if (!allowed(job, node)) continue;
    if (best == kNone || worth(node) > worth(best)) best = node;
    if (domain_free_.size() == 1 || ++looked_at == kNodesLookedAt) break;
  }
  return best;
}

std::uint32_t Draft::emptiest(const Job& job, std::uint32_t domain) const {
  for (std::size_t free = nodes_by_free_.size(); free-- > job.slots_per_worker;) {
    const std::uint32_t node = nearest(job, nodes_by_free_[free], domain);
    if (node != kNone) return node;
  }
  return kNone;
}

std::uint32_t Draft::tightest(const Job& job, std::uint32_t workers, std::uint32_t domain) const {
  const std::uint64_t slots = std::uint64_t{workers} * job.slots_per_worker;
  for (std::size_t free = slots; free < nodes_by_free_.size(); ++free) {
    const std::uint32_t node = nearest(job, nodes_by_free_[free], domain);
    if (node != kNone) return node;
  }
  return kNone;
}

Shares Draft::spread(const Job& job, std::uint32_t workers, Packing packing, const Shares& beside) {
  Shares found;
  std::uint32_t domain = beside.empty() ? kNone : domain_[beside.back().node];
  while (workers > 0) {
    std::uint32_t node = packing == Packing::kTight ? tightest(job, workers, domain) : kNone;
    if (node == kNone) node = emptiest(job, domain);
    if (node == kNone || room_on(job, node) == 0) {
      for (const Share& share : found) give_back(job, share);
      return {};
    }
    const Share share{node, std::min(workers, room_on(job, node))};
    take(job, share);
    found.push_back(share);
    domain = domain_[node];
    workers -= share.count;
  }
  return found;
}

bool Draft::place(std::size_t job, std::uint32_t workers, Packing packing) {
  const Job& it = snapshot_->jobs[job];
  clear(job);
  if (!counts(it, workers)) return false;
  shares_[job] = spread(it, workers, packing, {});
  return !shares_[job].empty();
}

bool Draft::resize(std::size_t job, std::uint32_t workers) {
  const Shares before = shares_[job];
  const std::uint32_t have = workers_of(before);
  if (have == workers) return true;
  if (have == 0) return place(job, workers, Packing::kTight);
  clear(job);
  const Job& it = snapshot_->jobs[job];
  const bool done = counts(it, workers) && (workers < have ? put(job, fewer(before, have - workers))
                                                           : grow(job, before, workers - have));
  if (!done) EDL_CHECK(put(job, before));
  return done;
}

bool Draft::grow(std::size_t job, Shares shares, std::uint32_t more) {
  const Job& it = snapshot_->jobs[job];
  for (Share& share : shares) {
    const std::uint32_t room = room_on(it, share.node);
    const std::uint32_t extra = std::min(more, room - std::min(room, share.count));
    share.count += extra;
    more -= extra;
  }
  if (!put(job, shares)) return false;
  if (more == 0) return true;
  const Shares rest = spread(it, more, Packing::kTight, shares);
  for (const Share& share : rest) add_to(shares_[job], share.node, share.count);
  return !rest.empty();
}

Plan Draft::finish() && {
  Plan plan;
  for (std::size_t j = 0; j < shares_.size(); ++j) {
    plan.allocations.push_back({std::move(shares_[j]), std::move(reasons_[j]), notes_[j]});
  }
  return plan;
}

}  // namespace edl::scheduler
