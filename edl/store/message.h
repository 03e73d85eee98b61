// The requests and answers of etcd's v3 API, as plain values. Names and meanings are etcd's; so are
// the numbers of the enums. Keys and values are bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace edl::store {

using Revision = std::int64_t;  // of the whole store; each change has a larger one
using LeaseId = std::int64_t;
using WatchId = std::int64_t;

struct Header {
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  Revision revision = 0;
  std::uint64_t raft_term = 0;
  bool operator==(const Header&) const = default;
};

struct KeyValue {
  std::string key{};
  Revision create_revision = 0;
  Revision mod_revision = 0;
  std::int64_t version = 0;  // 1 after the key was made; 0 only in a delete event
  std::string value{};
  LeaseId lease = 0;
  bool operator==(const KeyValue&) const = default;
};

enum class SortOrder { kNone = 0, kAscend = 1, kDescend = 2 };
enum class SortTarget { kKey = 0, kVersion = 1, kCreate = 2, kMod = 3, kValue = 4 };

// `key` alone, [key, range_end), or everything from `key` on when range_end is a zero byte.
struct RangeRequest {
  std::string key{};
  std::string range_end{};
  std::int64_t limit = 0;
  Revision revision = 0;  // 0: now
  SortOrder sort_order = SortOrder::kNone;
  SortTarget sort_target = SortTarget::kKey;
  bool serializable = false;
  bool keys_only = false;
  bool count_only = false;
  Revision min_mod_revision = 0;
  Revision max_mod_revision = 0;
  Revision min_create_revision = 0;
  Revision max_create_revision = 0;
};
struct RangeResponse {
  std::optional<Header> header{};
  std::vector<KeyValue> kvs{};
  bool more = false;
  std::int64_t count = 0;
};

struct PutRequest {
  std::string key{};
  std::string value{};
  LeaseId lease = 0;
  bool prev_kv = false;
  bool ignore_value = false;
  bool ignore_lease = false;
};
struct PutResponse {
  std::optional<Header> header{};
  std::optional<KeyValue> prev_kv{};
};

struct DeleteRangeRequest {
  std::string key{};
  std::string range_end{};
  bool prev_kv = false;
};
struct DeleteRangeResponse {
  std::optional<Header> header{};
  std::int64_t deleted = 0;
  std::vector<KeyValue> prev_kvs{};
};

enum class CompareResult { kEqual = 0, kGreater = 1, kLess = 2, kNotEqual = 3 };
enum class CompareTarget { kVersion = 0, kCreate = 1, kMod = 2, kValue = 3, kLease = 4 };

// Each operand counts only when the target is its own.
struct Compare {
  CompareResult result = CompareResult::kEqual;
  CompareTarget target = CompareTarget::kVersion;
  std::string key{};
  std::int64_t version = 0;
  Revision create_revision = 0;
  Revision mod_revision = 0;
  std::string value{};
  LeaseId lease = 0;
  std::string range_end{};
};

struct TxnRequest;
struct TxnResponse;
struct NoOp {};
using Request =
    std::variant<NoOp, RangeRequest, PutRequest, DeleteRangeRequest, std::vector<TxnRequest>>;
using Response =
    std::variant<NoOp, RangeResponse, PutResponse, DeleteRangeResponse, std::vector<TxnResponse>>;

// One operation of a transaction. A transaction within it is a list of exactly one. With a {} here
// clang would want TxnRequest to be complete.
struct RequestOp {
  Request request;
};
struct ResponseOp {
  Response response;
};

struct TxnRequest {
  std::vector<Compare> compare{};
  std::vector<RequestOp> success{};
  std::vector<RequestOp> failure{};
};
struct TxnResponse {
  std::optional<Header> header{};
  bool succeeded = false;
  std::vector<ResponseOp> responses{};
};

struct CompactionRequest {
  Revision revision = 0;
  bool physical = false;
};
struct CompactionResponse {
  std::optional<Header> header{};
};

struct LeaseGrantRequest {
  std::int64_t ttl = 0;  // seconds
  LeaseId id = 0;        // 0: the server chooses
};
struct LeaseGrantResponse {
  std::optional<Header> header{};
  LeaseId id = 0;
  std::int64_t ttl = 0;
};
struct LeaseRevokeRequest {
  LeaseId id = 0;
};
struct LeaseRevokeResponse {
  std::optional<Header> header{};
};
struct LeaseKeepAliveRequest {
  LeaseId id = 0;
};
struct LeaseKeepAliveResponse {
  std::optional<Header> header{};
  LeaseId id = 0;
  std::int64_t ttl = 0;  // 0: there is no such lease
};
struct LeaseTimeToLiveRequest {
  LeaseId id = 0;
  bool keys = false;
};
struct LeaseTimeToLiveResponse {
  std::optional<Header> header{};
  LeaseId id = 0;
  std::int64_t ttl = 0;  // -1: there is no such lease
  std::int64_t granted_ttl = 0;
  std::vector<std::string> keys{};
};
struct LeaseLeasesRequest {};
struct LeaseStatus {
  LeaseId id = 0;
};
struct LeaseLeasesResponse {
  std::optional<Header> header{};
  std::vector<LeaseStatus> leases{};
};

}  // namespace edl::store
