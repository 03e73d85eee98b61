// Follows a prefix on etcd's API: lists it, watches from there, and when history is gone lists
// again and tells the difference.
#pragma once

#include <map>

#include "edl/store/listing.h"
#include "edl/store/store.h"
#include "edl/store/watch_client.h"

namespace edl::store {

class Follower final : public os::Pending::Operation {
 public:
  Follower(Client& client, WatchClient& watches, std::string prefix, OnFact on_fact);
  ~Follower() override { *alive_ = false; }

 private:
  void list();
  void on_listed(Result<Listed> listed);
  void watch(Revision from);
  void on_watch(Result<WatchBatch> batch);
  // False when we were destroyed by who was told.
  bool tell(Result<Fact> fact);
  bool tell_put(const KeyValue& kv);
  bool tell_deleted(const std::string& key, Revision revision);

  Client& client_;
  WatchClient& watches_;
  const std::string prefix_;
  const OnFact on_fact_;
  std::map<std::string, Revision> known_;  // key to its mod_revision
  Duration pause_;
  os::Pending listing_;
  os::Pending watching_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::store
