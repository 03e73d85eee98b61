// etcd's own words for what it refuses.
#pragma once

#include "edl/base/result.h"
#include "edl/store/core.h"

namespace edl::store {

inline Refusal unreadable(const Error& why) { return {3, why.message}; }
inline Refusal empty_key() { return {3, "etcdserver: key is not provided"}; }
inline Refusal key_not_found() { return {3, "etcdserver: key not found"}; }
inline Refusal value_provided() { return {3, "etcdserver: value is provided"}; }
inline Refusal lease_provided() { return {3, "etcdserver: lease is provided"}; }
inline Refusal too_many_ops() { return {3, "etcdserver: too many operations in txn request"}; }
inline Refusal duplicate_key() { return {3, "etcdserver: duplicate key given in txn request"}; }
inline Refusal request_too_large() { return {3, "etcdserver: request is too large"}; }
// etcd 3.4 has no word for it: it crashes. This is what etcd 3.5 says.
inline Refusal unknown_sort_target() { return {3, "etcdserver: invalid sort option"}; }
inline Refusal compacted() {
  return {11, "etcdserver: mvcc: required revision has been compacted"};
}
inline Refusal future_revision() {
  return {11, "etcdserver: mvcc: required revision is a future revision"};
}
inline Refusal lease_not_found() { return {5, "etcdserver: requested lease not found"}; }
inline Refusal lease_exists() { return {9, "etcdserver: lease already exists"}; }
inline Refusal ttl_too_large() { return {11, "etcdserver: too large lease TTL"}; }
inline Refusal no_space() { return {8, "etcdserver: mvcc: database space exceeded"}; }

}  // namespace edl::store
