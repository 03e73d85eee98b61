#include "edl/store/etcd_store.h"

#include <chrono>

#include "edl/base/text.h"
#include "edl/store/follower.h"
#include "edl/store/listing.h"

namespace edl::store {

EtcdStore::EtcdStore(os::System& system, ClientOptions options, WatchOptions watch_options)
    : client_(system, std::move(options)), watches_(client_, watch_options) {}

std::string prefix_end(std::string prefix) {
  while (!prefix.empty()) {
    const auto last = static_cast<unsigned char>(prefix.back());
    if (last < 0xff) {
      prefix.back() = static_cast<char>(last + 1);
      return prefix;
    }
    prefix.pop_back();
  }
  return std::string(1, '\0');  // everything
}

os::Pending EtcdStore::find(const std::string& key, Done<std::optional<KeyValue>> done) {
  return client_.range({.key = key}, [done = std::move(done)](Result<RangeResponse> answer) {
    if (!answer.ok()) return done(answer.error());
    if (answer->kvs.empty()) return done(std::optional<KeyValue>());
    done(std::optional<KeyValue>(std::move(answer->kvs.front())));
  });
}

os::Pending EtcdStore::list(const std::string& prefix, Done<std::vector<KeyValue>> done) {
  const auto unpack = [done = std::move(done)](Result<Listed> listed) {
    if (!listed.ok()) return done(listed.error());
    done(std::move(listed->kvs));
  };
  return os::Pending(std::make_unique<Listing>(client_, prefix, unpack));
}

os::Pending EtcdStore::change(const Change& change, Done<Changed> done) {
  TxnRequest request;
  for (const Change::Condition& condition : change.conditions) {
    request.compare.push_back({.target = CompareTarget::kMod,
                               .key = condition.key,
                               .mod_revision = condition.mod_revision});
  }
  for (const Change::Put& put : change.puts) {
    request.success.push_back({PutRequest{.key = put.key, .value = put.value, .lease = put.lease}});
  }
  for (const std::string& key : change.deletes) {
    request.success.push_back({DeleteRangeRequest{.key = key}});
  }
  return client_.txn(request, [done = std::move(done)](Result<TxnResponse> answer) {
    if (!answer.ok()) return done(answer.error());
    done(Changed{answer->succeeded, answer->header->revision});
  });
}

os::Pending EtcdStore::grant(Duration length, Done<LeaseId> done) {
  const auto ttl = std::chrono::ceil<std::chrono::seconds>(length).count();
  return client_.grant({.ttl = ttl}, [done = std::move(done)](Result<LeaseGrantResponse> answer) {
    if (!answer.ok()) return done(answer.error());
    done(answer->id);
  });
}

os::Pending EtcdStore::renew(LeaseId lease, Done<Duration> done) {
  return client_.keep_alive({lease}, [done = std::move(done)](auto answer) {
    if (!answer.ok()) return done(answer.error());
    done(Duration(std::chrono::seconds(answer->ttl)));
  });
}

os::Pending EtcdStore::revoke(LeaseId lease, Done<void> done) {
  return client_.revoke({lease}, [done = std::move(done)](Result<LeaseRevokeResponse> answer) {
    if (!answer.ok()) return done(answer.error());
    done({});
  });
}

os::Pending EtcdStore::follow(const std::string& prefix, OnFact on_fact) {
  return os::Pending(std::make_unique<Follower>(client_, watches_, prefix, std::move(on_fact)));
}

}  // namespace edl::store
