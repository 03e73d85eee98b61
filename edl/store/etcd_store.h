// A Store on etcd's API.
#pragma once

#include "edl/store/client.h"
#include "edl/store/store.h"
#include "edl/store/watch_client.h"

namespace edl::store {

class EtcdStore final : public Store {
 public:
  EtcdStore(os::System& system, ClientOptions options, WatchOptions watch_options = {});

  os::Pending find(const std::string& key, Done<std::optional<KeyValue>> done) override;
  os::Pending list(const std::string& prefix, Done<std::vector<KeyValue>> done) override;
  os::Pending change(const Change& change, Done<Changed> done) override;
  os::Pending grant(Duration length, Done<LeaseId> done) override;
  os::Pending renew(LeaseId lease, Done<Duration> done) override;
  os::Pending revoke(LeaseId lease, Done<void> done) override;
  os::Pending follow(const std::string& prefix, OnFact on_fact) override;
  os::System& system() override { return client_.system(); }

  Client& client() { return client_; }
  WatchClient& watches() { return watches_; }

 private:
  Client client_;
  WatchClient watches_;
};

// The end of the range of keys that begin with the prefix.
std::string prefix_end(std::string prefix);

}  // namespace edl::store
