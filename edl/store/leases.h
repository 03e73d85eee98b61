// Leases and the keys that hang on them. Plain state; time is an argument. What a lease's end does
// to its keys is the core's business.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "edl/base/time.h"
#include "edl/store/message.h"

namespace edl::store {

struct Lease {
  std::int64_t ttl = 0;  // seconds, as granted
  Time deadline;
  std::set<std::string, std::less<>> keys{};
};

class Leases {
 public:
  const Lease* find(LeaseId id) const;
  std::vector<LeaseId> ids() const;  // in order of their end
  // The first end of a lease; nothing without leases.
  std::optional<Time> first_deadline() const;
  // Those that are over, in order of their end.
  std::vector<LeaseId> over(Time now) const;

  // The id is new.
  void grant(LeaseId id, std::int64_t ttl, Time now);
  // It begins anew. False when there is no such lease.
  bool renew(LeaseId id, Time now);
  // Each gets this much more time: nobody could renew while we were away.
  void extend_all(Duration by);
  void remove(LeaseId id);

  // A key hangs on at most one lease; 0 is none.
  void attach(LeaseId id, std::string_view key);
  void detach(LeaseId id, std::string_view key);

 private:
  std::map<LeaseId, Lease> leases_;
  std::set<std::pair<Time, LeaseId>> by_deadline_;
};

}  // namespace edl::store
