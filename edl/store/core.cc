#include "edl/store/core.h"

#include <algorithm>

#include "edl/store/range.h"
#include "edl/store/refusals.h"
#include "edl/store/request_check.h"
#include "edl/store/txn.h"

namespace edl::store {

StoreCore::StoreCore(Image image, CoreLimits limits, std::uint64_t seed, Time now)
    : limits_(limits),
      cluster_id_(image.cluster_id),
      member_id_(image.member_id),
      starts_(image.starts),
      random_(seed),
      history_(std::move(image.history)),
      collected_(history_.revision()) {
  for (const LeaseTerm& lease : image.leases) leases_.grant(lease.id, lease.ttl, now);
  if (image.leases.empty()) return;
  history_.each([this](const KeyEntry& entry, const Version& version) {
    leases_.attach(version.lease, entry.first);
  });
}

Header StoreCore::header() const {
  return {.cluster_id = cluster_id_,
          .member_id = member_id_,
          .revision = history_.revision(),
          .raft_term = starts_};
}

UnaryResponse StoreCore::apply(const UnaryRequest& request, Time now) {
  if (auto refusal = check_request(request, limits_)) return *refusal;
  return std::visit([&](const auto& concrete) { return run(concrete, now); }, request);
}

namespace {

Header inner_header(const History& history) { return {.revision = history.revision()}; }

}  // namespace

std::optional<Refusal> StoreCore::check_revision(Revision revision) const {
  if (revision > history_.revision()) return future_revision();
  if (revision > 0 && revision < history_.compacted()) return compacted();
  return std::nullopt;
}

std::optional<Refusal> StoreCore::check_lease(LeaseId lease) const {
  if (lease != 0 && leases_.find(lease) == nullptr) return lease_not_found();
  return std::nullopt;
}

UnaryResponse StoreCore::run(const RangeRequest& request, Time) {
  if (auto refusal = check_revision(request.revision)) return *refusal;
  RangeResponse response = range(request);
  response.header = header();
  return response;
}

UnaryResponse StoreCore::run(const PutRequest& request, Time) {
  if (auto refusal = check_lease(request.lease)) return *refusal;
  const bool needs_key = request.ignore_value || request.ignore_lease;
  if (needs_key && history_.find(request.key) == nullptr) return key_not_found();
  history_.begin();
  PutResponse response = put(request);
  response.header = header();
  return response;
}

UnaryResponse StoreCore::run(const DeleteRangeRequest& request, Time) {
  history_.begin();
  DeleteRangeResponse response = remove(request);
  response.header = header();
  return response;
}

UnaryResponse StoreCore::run(const TxnRequest& request, Time) {
  TxnRun txn(*this);
  if (auto refusal = txn.plan(request)) return *refusal;
  history_.begin();
  TxnResponse response = txn.perform(request);
  response.header = header();
  return response;
}

RangeResponse StoreCore::range(const RangeRequest& request) const {
  RangeResponse response = read_range(history_, request);
  response.header = inner_header(history_);
  return response;
}

PutResponse StoreCore::put(const PutRequest& request) {
  PutResponse response;
  const Version* before = history_.find(request.key);
  if (request.prev_kv && before != nullptr) {
    response.prev_kv = key_value({request.key, {}}, *before);
  }
  const LeaseId old_lease = before == nullptr ? 0 : before->lease;
  const LeaseId lease = request.ignore_lease ? old_lease : request.lease;
  // Within a transaction the key may be gone by now, though it was there when we checked.
  const bool keep_value = request.ignore_value && before != nullptr;
  std::string value = keep_value ? before->value : request.value;
  history_.put(request.key, std::move(value), lease);
  if (lease != old_lease) {
    leases_.detach(old_lease, request.key);
    leases_.attach(lease, request.key);
  }
  response.header = inner_header(history_);
  return response;
}

DeleteRangeResponse StoreCore::remove(const DeleteRangeRequest& request) {
  DeleteRangeResponse response;
  const auto hits = history_.range({request.key, request.range_end}, history_.revision());
  for (const History::Hit& hit : hits) {
    if (request.prev_kv) response.prev_kvs.push_back(key_value(*hit.entry, *hit.version));
    remove_key(hit.entry->first, hit.version->lease);
  }
  response.deleted = static_cast<std::int64_t>(hits.size());
  response.header = inner_header(history_);
  return response;
}

void StoreCore::remove_key(std::string_view key, LeaseId lease) {
  history_.remove(key);
  leases_.detach(lease, key);
}

UnaryResponse StoreCore::run(const CompactionRequest& request, Time) {
  if (request.revision <= history_.compacted()) return compacted();
  if (request.revision > history_.revision()) return future_revision();
  compact(request.revision);
  return CompactionResponse{header()};
}

void StoreCore::compact(Revision revision) {
  if (revision <= history_.compacted()) return;
  collect();
  std::vector<Place> gone = history_.compact(revision);
  std::sort(gone.begin(), gone.end());
  // Versions that did not reach the disk yet never will.
  std::erase_if(changes_.versions, [&](const History::Change& change) {
    return std::binary_search(gone.begin(), gone.end(), change.place);
  });
  changes_.compacted = revision;
  changes_.forgotten.insert(changes_.forgotten.end(), gone.begin(), gone.end());
}

UnaryResponse StoreCore::run(const LeaseGrantRequest& request, Time now) {
  if (request.ttl > limits_.ttl_max) return ttl_too_large();
  if (request.id != 0 && leases_.find(request.id) != nullptr) return lease_exists();
  const LeaseId id = request.id != 0 ? request.id : new_lease_id();
  const std::int64_t ttl = std::max(request.ttl, limits_.ttl_min);
  leases_.grant(id, ttl, now);
  changes_.leases.push_back({id, ttl});
  return LeaseGrantResponse{header(), id, ttl};
}

LeaseId StoreCore::new_lease_id() {
  for (;;) {
    const auto id = static_cast<LeaseId>(random_.next() >> 1);
    if (id != 0 && leases_.find(id) == nullptr) return id;
  }
}

UnaryResponse StoreCore::run(const LeaseRevokeRequest& request, Time) {
  if (leases_.find(request.id) == nullptr) return lease_not_found();
  end_lease(request.id);
  return LeaseRevokeResponse{header()};
}

// All its keys go in one revision.
void StoreCore::end_lease(LeaseId id) {
  const auto keys = leases_.find(id)->keys;
  history_.begin();
  for (const std::string& key : keys) remove_key(key, id);
  leases_.remove(id);
  changes_.leases.push_back({id, 0});
}

UnaryResponse StoreCore::run(const LeaseKeepAliveRequest& request, Time now) {
  const bool alive = leases_.renew(request.id, now);
  return LeaseKeepAliveResponse{header(), request.id, alive ? leases_.find(request.id)->ttl : 0};
}

UnaryResponse StoreCore::run(const LeaseTimeToLiveRequest& request, Time now) {
  LeaseTimeToLiveResponse response{.header = header(), .id = request.id, .ttl = -1};
  const Lease* lease = leases_.find(request.id);
  if (lease == nullptr) return response;
  const Duration left = std::max(lease->deadline - now, Duration::zero());
  response.ttl = std::chrono::floor<std::chrono::seconds>(left).count();
  response.granted_ttl = lease->ttl;
  if (request.keys) response.keys.assign(lease->keys.begin(), lease->keys.end());
  return response;
}

UnaryResponse StoreCore::run(const LeaseLeasesRequest&, Time) {
  LeaseLeasesResponse response{.header = header()};
  for (const LeaseId id : leases_.ids()) response.leases.push_back({id});
  return response;
}

void StoreCore::on_time(Time now) {
  for (const LeaseId id : leases_.over(now)) end_lease(id);
  // In steps of the limit itself, so that it is rare.
  const Revision kept = history_.revision() - std::max(history_.compacted(), Revision{0});
  if (limits_.keep_revisions > 0 && kept > 2 * limits_.keep_revisions) {
    compact(history_.revision() - limits_.keep_revisions);
  }
}

// Notes the versions that were made since the last time.
void StoreCore::collect() {
  for (auto change = history_.log_from(Place(collected_ + 1, 0)); change != history_.log().end();
       ++change) {
    changes_.versions.push_back(*change);
  }
  collected_ = history_.revision();
}

Changes StoreCore::take_changes() {
  collect();
  return std::exchange(changes_, {});
}

}  // namespace edl::store
