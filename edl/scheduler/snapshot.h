// What a scheduler knows when it decides: the cluster, its tenants and every job that is not over.
// Plain data; all memory of a policy is in here, so equal snapshots get equal plans.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace edl::scheduler {

inline constexpr std::uint64_t kNoQuota = std::numeric_limits<std::uint64_t>::max();

struct Node {
  std::string name{};
  std::uint32_t slots = 0;
  std::string kind{};    // of its devices; empty: the usual one
  std::string domain{};  // what fails together
  double speed = 1;      // of a slot, beside the usual one
};

struct Tenant {
  std::string name{};
  std::uint64_t quota = kNoQuota;  // slots of all its jobs together
};

// Workers of a job on one node, which is named by its place in the snapshot's list.
struct Share {
  std::uint32_t node = 0;
  std::uint32_t count = 0;
  bool operator==(const Share&) const = default;
};
using Shares = std::vector<Share>;

// How fast the job is with so many workers on so many nodes, measured or predicted by the job.
struct SpeedPoint {
  std::uint32_t workers = 1;
  std::uint32_t nodes = 1;
  double per_s = 0;
};

struct Job {
  std::string name{};
  std::optional<std::uint32_t> tenant{};  // its place in the list
  std::int32_t priority = 0;              // higher goes first
  double weight = 1;                      // of its share among equals
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::uint32_t wanted = 0;  // what policies that do not resize give it; 0: max
  std::uint32_t slots_per_worker = 1;
  std::string kind{};  // of the nodes that it needs; empty: any
  double submitted = 0;
  std::optional<double> remaining{};  // in the unit of per_s
  Shares current{};
  std::uint32_t lost = 0;  // workers on nodes that are gone, beside the current ones
  std::vector<SpeedPoint> throughput{};
  std::uint32_t logical_workers = 0;  // 0: every size is useful
  double change_cost_s = 0;
  double frozen_until = 0;
  bool near_end = false;
  double since = 0;       // it has been waiting, or running, from then on
  double attained_s = 0;  // slot seconds that it had
  std::uint32_t changes = 0;
  std::uint32_t tried = 0;  // most workers that were measured; 0: none yet
  double utilisation = 1;   // of what it has
  std::optional<double> deadline{};
  std::optional<double> price_max{};  // slot seconds that all of it may cost
  std::optional<double> note{};       // what the policy wrote beside its last allocation
};

struct Snapshot {
  double now = 0;
  std::vector<Node> nodes{};
  std::vector<Tenant> tenants{};
  std::vector<Job> jobs{};
};

std::uint32_t workers_of(const Shares& shares);
std::uint64_t slots_of(const Snapshot& snapshot);  // all of them
bool is_running(const Job& job);
// What a policy that does not resize gives the job, when the cluster is that large.
std::uint32_t wanted_workers(const Job& job, std::uint64_t slots);

// Sizes that buy something: with V logical workers the speed is V / ceil(V / k), so that between
// two useful sizes the larger number of workers only waits. Answers the largest useful one of at
// most `workers`.
std::uint32_t useful_size(std::uint32_t logical_workers, std::uint32_t workers);

}  // namespace edl::scheduler
