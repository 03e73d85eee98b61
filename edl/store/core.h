// The store: what etcd's API does to keys, leases and revisions. Facts in, answers out; no I/O and
// no clock. What must be on disk before an answer leaves is collected in `Changes`.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "edl/base/random.h"
#include "edl/base/time.h"
#include "edl/store/history.h"
#include "edl/store/leases.h"
#include "edl/store/message.h"

namespace edl::store {

// A gRPC status, with etcd's number and words.
struct Refusal {
  int code = 0;
  std::string message{};
  bool operator==(const Refusal&) const = default;
};

using UnaryRequest =
    std::variant<RangeRequest, PutRequest, DeleteRangeRequest, TxnRequest, CompactionRequest,
                 LeaseGrantRequest, LeaseRevokeRequest, LeaseKeepAliveRequest,
                 LeaseTimeToLiveRequest, LeaseLeasesRequest>;
using UnaryResponse =
    std::variant<Refusal, RangeResponse, PutResponse, DeleteRangeResponse, TxnResponse,
                 CompactionResponse, LeaseGrantResponse, LeaseRevokeResponse,
                 LeaseKeepAliveResponse, LeaseTimeToLiveResponse, LeaseLeasesResponse>;

struct CoreLimits {
  std::int64_t request_bytes_max = 3 << 19;  // 1.5 MiB, as etcd counts it
  std::int64_t message_bytes_max = (3 << 19) + (512 << 10);
  std::size_t txn_ops_max = 128;
  std::int64_t ttl_min = 2;  // seconds
  std::int64_t ttl_max = 9'000'000'000;
  Revision keep_revisions = 1'000'000;  // history beyond it is compacted; 0: never
};

struct LeaseTerm {
  LeaseId id;
  std::int64_t ttl;  // seconds
};

// What is known when the store starts.
struct Image {
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  std::uint64_t starts = 1;  // how often it was started, this time included
  History history{};
  std::vector<LeaseTerm> leases{};
};

struct Changes {
  std::vector<History::Change> versions{};
  std::vector<LeaseTerm> leases{};  // in order; a ttl of 0 is the end of a lease
  std::optional<Revision> compacted{};
  std::vector<Place> forgotten{};

  bool empty() const { return versions.empty() && leases.empty() && !compacted; }
};

class StoreCore {
 public:
  // Every lease of the image has its whole time from now on.
  StoreCore(Image image, CoreLimits limits, std::uint64_t seed, Time now);

  UnaryResponse apply(const UnaryRequest& request, Time now);
  // Ends the leases that are over, and forgets history beyond the limit.
  void on_time(Time now);
  std::optional<Time> wake_at() const { return leases_.first_deadline(); }
  // The store could not serve for so long.
  void on_pause(Duration length) { leases_.extend_all(length); }

  // What happened since the last call.
  Changes take_changes();

  const History& history() const { return history_; }
  const Leases& leases() const { return leases_; }
  Header header() const;

 private:
  friend class TxnRun;

  UnaryResponse run(const RangeRequest& request, Time now);
  UnaryResponse run(const PutRequest& request, Time now);
  UnaryResponse run(const DeleteRangeRequest& request, Time now);
  UnaryResponse run(const TxnRequest& request, Time now);
  UnaryResponse run(const CompactionRequest& request, Time now);
  UnaryResponse run(const LeaseGrantRequest& request, Time now);
  UnaryResponse run(const LeaseRevokeRequest& request, Time now);
  UnaryResponse run(const LeaseKeepAliveRequest& request, Time now);
  UnaryResponse run(const LeaseTimeToLiveRequest& request, Time now);
  UnaryResponse run(const LeaseLeasesRequest& request, Time now);

  // The parts that transactions share. Everything was checked before.
  RangeResponse range(const RangeRequest& request) const;
  PutResponse put(const PutRequest& request);
  DeleteRangeResponse remove(const DeleteRangeRequest& request);
  std::optional<Refusal> check_lease(LeaseId lease) const;
  std::optional<Refusal> check_revision(Revision revision) const;

  void remove_key(std::string_view key, LeaseId lease);
  void end_lease(LeaseId id);
  void compact(Revision revision);
  LeaseId new_lease_id();
  void collect();

  const CoreLimits limits_;
  const std::uint64_t cluster_id_;
  const std::uint64_t member_id_;
  const std::uint64_t starts_;
  Random random_;
  History history_;
  Leases leases_;
  Changes changes_;
  Revision collected_;  // versions up to it are in `changes_`, or on disk
};

}  // namespace edl::store
