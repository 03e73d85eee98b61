// Leases, each a session of its own: its keys are ephemeral nodes of that session.
//
// libzookeeper keeps a session alive by itself, so a lease that nobody renews is ended here, by a
// timer, when its length has passed. A process that dies or is stopped is forgotten by the ensemble
// after the session's timeout, which is the lease's length within the server's bounds.
#pragma once

#include <map>
#include <set>

#include "edl/store/zookeeper/ensemble.h"

namespace edl::store::zookeeper {

class Leases {
 public:
  struct Lease {
    std::shared_ptr<Session> session;
    Duration length{};
    std::set<std::string> keys{};  // that were put on it
    os::Pending end{};
  };

  explicit Leases(Ensemble& ensemble) : ensemble_(ensemble) {}

  Lease* find(LeaseId id);
  LeaseId add(std::shared_ptr<Session> session, Duration length);
  // It lasts for its length from then on.
  void extend(LeaseId id, Time from);
  // Answers its keys; they go as soon as the ensemble hears of it.
  std::set<std::string> end(LeaseId id);

 private:
  Ensemble& ensemble_;
  std::map<LeaseId, Lease> leases_;
};

os::Pending grant_lease(Ensemble& ensemble, Leases& leases, Duration length, Done<LeaseId> done);
os::Pending renew_lease(Ensemble& ensemble, Leases& leases, LeaseId id, Done<Duration> done);
// Answers when its keys are gone.
os::Pending revoke_lease(Ensemble& ensemble, Leases& leases, LeaseId id, Done<void> done);

Error no_such_lease(LeaseId id);

}  // namespace edl::store::zookeeper
