// A Store on ZooKeeper. What differs from one on etcd's API: docs/reference/store-zookeeper.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "edl/store/store.h"

namespace edl::store::zookeeper {

struct Options {
  std::string hosts{};             // "a:2181,b:2181"; names are looked up when a session begins
  Duration limit = 5s;             // for one call, all attempts together
  Duration session_timeout = 10s;  // of the session that reads and follows
};

class Ensemble;
class Leases;

class ZooKeeperStore final : public Store {
 public:
  ZooKeeperStore(os::System& system, Options options);
  ~ZooKeeperStore() override;  // ends its sessions: its leases are over

  os::Pending find(const std::string& key, Done<std::optional<KeyValue>> done) override;
  os::Pending list(const std::string& prefix, Done<std::vector<KeyValue>> done) override;
  os::Pending change(const Change& change, Done<Changed> done) override;
  os::Pending grant(Duration length, Done<LeaseId> done) override;
  os::Pending renew(LeaseId lease, Done<Duration> done) override;
  os::Pending revoke(LeaseId lease, Done<void> done) override;
  os::Pending follow(const std::string& prefix, OnFact on_fact) override;
  os::System& system() override;

 private:
  std::unique_ptr<Ensemble> ensemble_;
  std::unique_ptr<Leases> leases_;
};

// "zk://host:port[,host:port...]".
Result<Options> parse_options(std::string_view url);
Result<std::unique_ptr<Store>> open_store(os::System& system, std::string_view url);

}  // namespace edl::store::zookeeper
