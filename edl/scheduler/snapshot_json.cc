#include "edl/scheduler/snapshot_json.h"

#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "edl/base/json_object.h"

namespace edl::scheduler {
namespace {

constexpr std::size_t kNodesMax = 200000;
constexpr std::size_t kJobsMax = 500000;
constexpr std::size_t kPointsMax = 4096;
constexpr std::uint32_t kCountMax = 1 << 20;
constexpr std::uint32_t kNodeSlotsMax = 1 << 16;
constexpr double kSecondsMax = 1e15;
constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();  // a node that was

using Places = std::unordered_map<std::string, std::uint32_t>;

Error wrong(std::string message) { return {Code::kInvalid, std::move(message)}; }

bool is_time(double value) { return std::isfinite(value) && std::abs(value) <= kSecondsMax; }

// 4.0 is the number 4, whoever wrote it.
void read_whole(Json& json) {
  constexpr double kExactMax = 9007199254740992;  // 2^53: up to there each whole number is one
  if (json.is_structured()) {
    for (Json& one : json) read_whole(one);
  } else if (json.is_number_float()) {
    const auto value = json.get<double>();
    if (value == std::floor(value) && std::abs(value) <= kExactMax) {
      json = static_cast<std::int64_t>(value);
    }
  }
}

Result<Node> node_from(const Json& json) {
  Node node;
  JsonReader in(json, "node");
  in.read("node", node.name);
  in.read("slots", node.slots);
  in.read_optional("kind", node.kind);
  in.read_optional("domain", node.domain);
  in.read_optional("speed", node.speed);
  EDL_TRY(in.finish());
  if (node.slots > kNodeSlotsMax) {
    return wrong(
        text("node ", node.name, " has ", node.slots, " slots; the limit is ", kNodeSlotsMax));
  }
  if (!(node.speed > 0) || !std::isfinite(node.speed)) {
    return wrong(text("node ", node.name, " has no speed above 0"));
  }
  return node;
}

Result<Tenant> tenant_from(const Json& json) {
  Tenant tenant;
  JsonReader in(json, "tenant");
  in.read("tenant", tenant.name);
  in.read_optional("quota", tenant.quota);
  EDL_TRY(in.finish());
  return tenant;
}

Result<SpeedPoint> point_from(const Json& json) {
  SpeedPoint point;
  JsonReader in(json, "throughput");
  in.read("workers", point.workers);
  in.read_optional("nodes", point.nodes);
  in.read("per_s", point.per_s);
  EDL_TRY(in.finish());
  if (point.workers == 0 || point.workers > kCountMax || point.nodes == 0) {
    return wrong(text("a speed of ", point.workers, " workers on ", point.nodes,
                      " nodes cannot have been measured"));
  }
  if (!(point.per_s >= 0) || !std::isfinite(point.per_s)) return wrong("per_s is below 0");
  return point;
}

class SnapshotReader {
 public:
  Result<Snapshot> read(const Json& json) {
    JsonReader in(json, "snapshot");
    in.read_optional("now", snapshot_.now);
    in.read_list("nodes", snapshot_.nodes, node_from);
    if (in.has("tenants")) in.read_list("tenants", snapshot_.tenants, tenant_from);
    EDL_TRY(in.finish());
    if (!is_time(snapshot_.now)) return wrong("snapshot: now is no time");
    if (snapshot_.nodes.size() > kNodesMax) {
      return wrong(text("snapshot: ", snapshot_.nodes.size(), " nodes; the limit is ", kNodesMax));
    }
    for (std::uint32_t n = 0; n < snapshot_.nodes.size(); ++n) {
      if (!nodes_.emplace(snapshot_.nodes[n].name, n).second) {
        return wrong(text("snapshot: node ", snapshot_.nodes[n].name, " is there twice"));
      }
    }
    for (std::uint32_t t = 0; t < snapshot_.tenants.size(); ++t) {
      if (!tenants_.emplace(snapshot_.tenants[t].name, t).second) {
        return wrong(text("snapshot: tenant ", snapshot_.tenants[t].name, " is there twice"));
      }
    }
    in.read_list("jobs", snapshot_.jobs, [this](const Json& one) { return job(one); });
    EDL_TRY(in.finish());
    if (snapshot_.jobs.size() > kJobsMax) {
      return wrong(text("snapshot: ", snapshot_.jobs.size(), " jobs; the limit is ", kJobsMax));
    }
    return std::move(snapshot_);
  }

 private:
  Result<Job> job(const Json& json) {
    Job job;
    job.since = std::numeric_limits<double>::quiet_NaN();
    JsonReader in(json, "job");
    in.read("job", job.name);
    in.read("min", job.min);
    in.read("max", job.max);
    read_identity(in, job);
    read_state(in, job);
    EDL_TRY(in.finish());
    // Who does not say since when it waits is not taken to starve.
    if (std::isnan(job.since)) job.since = is_running(job) ? job.submitted : snapshot_.now;
    EDL_TRY(check(job));
    return job;
  }
  void read_identity(JsonReader& in, Job& job) {
    std::string tenant;
    in.read_optional("tenant", tenant);
    if (!tenant.empty()) job.tenant = tenant_place(tenant);
    in.read_optional("priority", job.priority);
    in.read_optional("weight", job.weight);
    in.read_optional("wanted", job.wanted);
    in.read_optional("slots_per_worker", job.slots_per_worker);
    in.read_optional("kind", job.kind);
    in.read_optional("submitted", job.submitted);
    in.read_optional("logical_workers", job.logical_workers);
    in.read_optional("deadline", job.deadline);
    in.read_optional("price_max", job.price_max);
  }
  void read_state(JsonReader& in, Job& job) {
    in.read_optional("remaining", job.remaining);
    if (in.has("current")) {
      in.read_list("current", job.current, [this](const Json& one) { return share(one); });
    }
    const auto is_gone = [](const Share& share) { return share.node == kGone; };
    for (const Share& share : job.current) job.lost += is_gone(share) ? share.count : 0;
    std::erase_if(job.current, is_gone);
    if (in.has("throughput")) in.read_list("throughput", job.throughput, point_from);
    for (const SpeedPoint& point : job.throughput) job.tried = std::max(job.tried, point.workers);
    in.read_optional("change_cost_s", job.change_cost_s);
    in.read_optional("frozen_until", job.frozen_until);
    in.read_optional("near_end", job.near_end);
    in.read_optional("since", job.since);
    in.read_optional("attained_s", job.attained_s);
    in.read_optional("changes", job.changes);
    in.read_optional("tried", job.tried);
    in.read_optional("utilisation", job.utilisation);
    in.read_optional("note", job.note);
  }
  Result<Share> share(const Json& json) {
    std::string node;
    Share share;
    JsonReader in(json, "current");
    in.read("node", node);
    in.read("count", share.count);
    EDL_TRY(in.finish());
    const auto found = nodes_.find(node);
    if (share.count == 0 || share.count > kNodeSlotsMax) {
      return wrong(text(share.count, " workers on node ", node, " cannot be"));
    }
    share.node = found == nodes_.end() ? kGone : found->second;
    return share;
  }
  std::uint32_t tenant_place(const std::string& name) {
    const auto [found, is_new] =
        tenants_.emplace(name, static_cast<std::uint32_t>(snapshot_.tenants.size()));
    if (is_new) snapshot_.tenants.push_back({.name = name});
    return found->second;
  }
  Result<void> check(const Job& job) {
    if (!names_.insert(job.name).second) return wrong(text("job ", job.name, " is there twice"));
    if (job.min == 0 || job.min > job.max || job.max > kCountMax) {
      return wrong(text("job ", job.name, " has min ", job.min, " and max ", job.max,
                        ": they must be from 1 to ", kCountMax, ", and min not above max"));
    }
    if (job.slots_per_worker == 0 || job.slots_per_worker > kNodeSlotsMax) {
      return wrong(text("job ", job.name, " has ", job.slots_per_worker, " slots a worker"));
    }
    if (job.throughput.size() > kPointsMax) {
      return wrong(text("job ", job.name, " has ", job.throughput.size(), " speeds; the limit is ",
                        kPointsMax));
    }
    const bool fine = is_time(job.submitted) && is_time(job.frozen_until) && is_time(job.since) &&
                      is_time(job.change_cost_s) && job.change_cost_s >= 0 &&
                      is_time(job.attained_s) && is_time(job.remaining.value_or(0)) &&
                      job.remaining.value_or(0) >= 0 && is_time(job.weight) && job.weight > 0 &&
                      is_time(job.price_max.value_or(0)) && job.price_max.value_or(0) >= 0 &&
                      job.utilisation >= 0 && job.utilisation <= 1;
    if (!fine) {
      return wrong(text("job ", job.name, " has a time, price, weight or share that cannot be"));
    }
    return {};
  }

  Snapshot snapshot_;
  Places nodes_;
  Places tenants_;
  std::unordered_set<std::string> names_;
};

Json shares_json(const Snapshot& snapshot, const Shares& shares) {
  Json list = Json::array();
  for (const Share& share : shares) {
    list.push_back(
        json_object({{"node", snapshot.nodes[share.node].name}, {"count", share.count}}));
  }
  return list;
}

Json job_json(const Snapshot& snapshot, const Job& job) {
  Json points = Json::array();
  for (const SpeedPoint& point : job.throughput) {
    points.push_back(
        json_object({{"workers", point.workers}, {"nodes", point.nodes}, {"per_s", point.per_s}}));
  }
  Json out = json_object({{"job", job.name},
                          {"priority", job.priority},
                          {"weight", job.weight},
                          {"min", job.min},
                          {"max", job.max},
                          {"wanted", job.wanted},
                          {"slots_per_worker", job.slots_per_worker},
                          {"kind", job.kind},
                          {"submitted", job.submitted},
                          {"current", shares_json(snapshot, job.current)},
                          {"throughput", std::move(points)},
                          {"logical_workers", job.logical_workers},
                          {"change_cost_s", job.change_cost_s},
                          {"frozen_until", job.frozen_until},
                          {"near_end", job.near_end},
                          {"since", job.since},
                          {"attained_s", job.attained_s},
                          {"changes", job.changes},
                          {"tried", job.tried},
                          {"utilisation", job.utilisation}});
  if (job.tenant) out["tenant"] = snapshot.tenants[*job.tenant].name;
  if (job.remaining) out["remaining"] = *job.remaining;
  if (job.deadline) out["deadline"] = *job.deadline;
  if (job.price_max) out["price_max"] = *job.price_max;
  if (job.note) out["note"] = *job.note;
  return out;
}

}  // namespace

Result<Snapshot> parse_snapshot(std::string_view words) {
  EDL_TRY(Json json, parse_json(words, {.bytes_max = kSnapshotBytesMax}));
  read_whole(json);
  return SnapshotReader().read(json);
}

Json snapshot_json(const Snapshot& snapshot) {
  Json nodes = Json::array();
  for (const Node& node : snapshot.nodes) {
    nodes.push_back(json_object({{"node", node.name},
                                 {"slots", node.slots},
                                 {"kind", node.kind},
                                 {"domain", node.domain},
                                 {"speed", node.speed}}));
  }
  Json tenants = Json::array();
  for (const Tenant& tenant : snapshot.tenants) {
    Json one = json_object({{"tenant", tenant.name}});
    if (tenant.quota != kNoQuota) one["quota"] = tenant.quota;
    tenants.push_back(std::move(one));
  }
  Json jobs = Json::array();
  for (const Job& job : snapshot.jobs) jobs.push_back(job_json(snapshot, job));
  return json_object({{"now", snapshot.now},
                      {"nodes", std::move(nodes)},
                      {"tenants", std::move(tenants)},
                      {"jobs", std::move(jobs)}});
}

Json plan_json(const Snapshot& snapshot, const Plan& plan) {
  Json list = Json::array();
  for (std::size_t j = 0; j < plan.allocations.size(); ++j) {
    const Allocation& one = plan.allocations[j];
    Json json = json_object({{"job", snapshot.jobs[j].name},
                             {"workers", shares_json(snapshot, one.workers)},
                             {"reason", one.reason}});
    if (one.note) json["note"] = *one.note;
    list.push_back(std::move(json));
  }
  return json_object({{"allocations", std::move(list)}});
}

}  // namespace edl::scheduler
