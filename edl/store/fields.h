// The fields of every message, told once: a writer and a reader of JSON walk over the same list.
// Names and their order are those of etcd's protocol.
//
// A walker `f` has: integer, flag, bytes, text, choice, message (of an optional), list (of
// messages), bytes_list, text_list, choice_list and, for one of several, `one`.
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>

#include "edl/store/message.h"

namespace edl::store {

// A message, or a const one.
template <class M, class T>
concept Of = std::same_as<std::remove_const_t<M>, T>;

struct ChoiceNames {
  std::string_view type;
  std::span<const std::string_view> names;  // at the place of their number
};
inline constexpr std::array<std::string_view, 3> kSortOrders{"NONE", "ASCEND", "DESCEND"};
inline constexpr std::array<std::string_view, 5> kSortTargets{"KEY", "VERSION", "CREATE", "MOD",
                                                              "VALUE"};
inline constexpr std::array<std::string_view, 4> kCompareResults{"EQUAL", "GREATER", "LESS",
                                                                 "NOT_EQUAL"};
inline constexpr std::array<std::string_view, 5> kCompareTargets{"VERSION", "CREATE", "MOD",
                                                                 "VALUE", "LEASE"};

inline constexpr ChoiceNames kSortOrder{"etcdserverpb.RangeRequest_SortOrder", kSortOrders};
inline constexpr ChoiceNames kSortTarget{"etcdserverpb.RangeRequest_SortTarget", kSortTargets};
inline constexpr ChoiceNames kCompareResult{"etcdserverpb.Compare_CompareResult", kCompareResults};
inline constexpr ChoiceNames kCompareTarget{"etcdserverpb.Compare_CompareTarget", kCompareTargets};

template <class F, Of<Header> M>
void fields(F& f, M& m) {
  f.integer("cluster_id", m.cluster_id);
  f.integer("member_id", m.member_id);
  f.integer("revision", m.revision);
  f.integer("raft_term", m.raft_term);
}

template <class F, Of<KeyValue> M>
void fields(F& f, M& m) {
  f.bytes("key", m.key);
  f.integer("create_revision", m.create_revision);
  f.integer("mod_revision", m.mod_revision);
  f.integer("version", m.version);
  f.bytes("value", m.value);
  f.integer("lease", m.lease);
}

template <class F, Of<RangeRequest> M>
void fields(F& f, M& m) {
  f.bytes("key", m.key);
  f.bytes("range_end", m.range_end);
  f.integer("limit", m.limit);
  f.integer("revision", m.revision);
  f.choice("sort_order", m.sort_order, kSortOrder);
  f.choice("sort_target", m.sort_target, kSortTarget);
  f.flag("serializable", m.serializable);
  f.flag("keys_only", m.keys_only);
  f.flag("count_only", m.count_only);
  f.integer("min_mod_revision", m.min_mod_revision);
  f.integer("max_mod_revision", m.max_mod_revision);
  f.integer("min_create_revision", m.min_create_revision);
  f.integer("max_create_revision", m.max_create_revision);
}
template <class F, Of<RangeResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.list("kvs", m.kvs);
  f.flag("more", m.more);
  f.integer("count", m.count);
}

template <class F, Of<PutRequest> M>
void fields(F& f, M& m) {
  f.bytes("key", m.key);
  f.bytes("value", m.value);
  f.integer("lease", m.lease);
  f.flag("prev_kv", m.prev_kv);
  f.flag("ignore_value", m.ignore_value);
  f.flag("ignore_lease", m.ignore_lease);
}
template <class F, Of<PutResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.message("prev_kv", m.prev_kv);
}

template <class F, Of<DeleteRangeRequest> M>
void fields(F& f, M& m) {
  f.bytes("key", m.key);
  f.bytes("range_end", m.range_end);
  f.flag("prev_kv", m.prev_kv);
}
template <class F, Of<DeleteRangeResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.integer("deleted", m.deleted);
  f.list("prev_kvs", m.prev_kvs);
}

template <class F, Of<Compare> M>
void fields(F& f, M& m) {
  f.choice("result", m.result, kCompareResult);
  f.choice("target", m.target, kCompareTarget);
  f.bytes("key", m.key);
  f.integer("version", m.version);
  f.integer("create_revision", m.create_revision);
  f.integer("mod_revision", m.mod_revision);
  f.bytes("value", m.value);
  f.integer("lease", m.lease);
  f.bytes("range_end", m.range_end);
}

template <class F, Of<RequestOp> M>
void fields(F& f, M& m) {
  f.template one<RangeRequest>("request_range", m.request);
  f.template one<PutRequest>("request_put", m.request);
  f.template one<DeleteRangeRequest>("request_delete_range", m.request);
  f.template one<std::vector<TxnRequest>>("request_txn", m.request);
}
template <class F, Of<ResponseOp> M>
void fields(F& f, M& m) {
  f.template one<RangeResponse>("response_range", m.response);
  f.template one<PutResponse>("response_put", m.response);
  f.template one<DeleteRangeResponse>("response_delete_range", m.response);
  f.template one<std::vector<TxnResponse>>("response_txn", m.response);
}
template <class F, Of<TxnRequest> M>
void fields(F& f, M& m) {
  f.list("compare", m.compare);
  f.list("success", m.success);
  f.list("failure", m.failure);
}
template <class F, Of<TxnResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.flag("succeeded", m.succeeded);
  f.list("responses", m.responses);
}

template <class F, Of<CompactionRequest> M>
void fields(F& f, M& m) {
  f.integer("revision", m.revision);
  f.flag("physical", m.physical);
}
template <class F, class M>
  requires Of<M, CompactionResponse> || Of<M, LeaseRevokeResponse>
void fields(F& f, M& m) {
  f.message("header", m.header);
}

template <class F, Of<LeaseGrantRequest> M>
void fields(F& f, M& m) {
  f.integer("TTL", m.ttl);
  f.integer("ID", m.id);
}
template <class F, class M>
  requires Of<M, LeaseGrantResponse> || Of<M, LeaseKeepAliveResponse>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.integer("ID", m.id);
  f.integer("TTL", m.ttl);
}
template <class F, class M>
  requires Of<M, LeaseRevokeRequest> || Of<M, LeaseKeepAliveRequest> || Of<M, LeaseStatus>
void fields(F& f, M& m) {
  f.integer("ID", m.id);
}
template <class F, Of<LeaseTimeToLiveRequest> M>
void fields(F& f, M& m) {
  f.integer("ID", m.id);
  f.flag("keys", m.keys);
}
template <class F, Of<LeaseTimeToLiveResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.integer("ID", m.id);
  f.integer("TTL", m.ttl);
  f.integer("grantedTTL", m.granted_ttl);
  f.bytes_list("keys", m.keys);
}
template <class F, Of<LeaseLeasesResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.list("leases", m.leases);
}

}  // namespace edl::store
