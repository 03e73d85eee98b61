#include "edl/store/leases.h"

#include "edl/base/check.h"

namespace edl::store {

const Lease* Leases::find(LeaseId id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

std::vector<LeaseId> Leases::ids() const {
  std::vector<LeaseId> ids;
  for (const auto& [deadline, id] : by_deadline_) ids.push_back(id);
  return ids;
}

std::optional<Time> Leases::first_deadline() const {
  if (by_deadline_.empty()) return std::nullopt;
  return by_deadline_.begin()->first;
}

std::vector<LeaseId> Leases::over(Time now) const {
  std::vector<LeaseId> ids;
  for (const auto& [deadline, id] : by_deadline_) {
    if (deadline > now) break;
    ids.push_back(id);
  }
  return ids;
}

void Leases::grant(LeaseId id, std::int64_t ttl, Time now) {
  const Time deadline = now + std::chrono::seconds(ttl);
  const bool added = leases_.emplace(id, Lease{.ttl = ttl, .deadline = deadline}).second;
  EDL_CHECK(added);
  by_deadline_.emplace(deadline, id);
}

bool Leases::renew(LeaseId id, Time now) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return false;
  by_deadline_.erase({found->second.deadline, id});
  found->second.deadline = now + std::chrono::seconds(found->second.ttl);
  by_deadline_.emplace(found->second.deadline, id);
  return true;
}

void Leases::extend_all(Duration by) {
  by_deadline_.clear();
  for (auto& [id, lease] : leases_) {
    lease.deadline += by;
    by_deadline_.emplace(lease.deadline, id);
  }
}

void Leases::remove(LeaseId id) {
  const auto found = leases_.find(id);
  EDL_CHECK(found != leases_.end());
  by_deadline_.erase({found->second.deadline, id});
  leases_.erase(found);
}

void Leases::attach(LeaseId id, std::string_view key) {
  if (id == 0) return;
  const auto found = leases_.find(id);
  EDL_CHECK(found != leases_.end());
  found->second.keys.emplace(key);
}

void Leases::detach(LeaseId id, std::string_view key) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  if (const auto held = found->second.keys.find(key); held != found->second.keys.end()) {
    found->second.keys.erase(held);
  }
}

}  // namespace edl::store
