// A client of the store in a virtual cluster: does random operations, watches, follows, registers
// and takes the lead now and then, and writes all of it into the journal.
#pragma once

#include "edl/os/system.h"
#include "edl/os/virtual/world.h"
#include "edl/store/etcd_store.h"
#include "edl/store/leader.h"
#include "edl/store/registration.h"
#include "tests/world/store_journal.h"

namespace edl::tests {

struct StoreClientOptions {
  std::string id;
  std::size_t operations;  // in all its lives together
  store::ClientOptions store{};
  store::WatchOptions watch{};
};

class StoreClient final : public os::Program {
 public:
  StoreClient(os::System& system, os::VirtualWorld& world, Journal& journal,
              StoreClientOptions options);
  ~StoreClient() override;

 private:
  Random draw();
  void think();
  void act();
  store::UnaryRequest next_request(Random& random);
  store::UnaryRequest next_txn(Random& random);
  store::UnaryRequest next_lease_request(Random& random);
  void send(const store::UnaryRequest& request);
  template <class Response>
  store::Done<Response> noted(std::size_t index);
  void note(std::size_t index, Result<store::UnaryResponse> response);
  void learn(const store::UnaryResponse& response);
  void watch(store::Revision from);
  void follow();
  void lead();

  os::System& system_;
  os::VirtualWorld& world_;
  Journal& journal_;
  const StoreClientOptions options_;
  store::EtcdStore store_;
  store::LeaderKey leader_;
  std::unique_ptr<store::Registration> registration_;
  store::Revision seen_ = 1;  // highest revision that it was told
  std::map<std::string, store::KeyValue> known_;
  std::vector<store::LeaseId> leases_;
  std::size_t watch_log_ = 0;
  os::Pending thinking_;
  os::Pending call_;
  os::Pending watching_;
  os::Pending following_;
  os::Pending leading_;
};

}  // namespace edl::tests
