#include "edl/store/follower.h"

#include <algorithm>

#include "edl/store/etcd_store.h"

namespace edl::store {
namespace {

constexpr Duration kPauseMin = 50ms;
constexpr Duration kPauseMax = 2s;

}  // namespace

Follower::Follower(Client& client, WatchClient& watches, std::string prefix, OnFact on_fact)
    : client_(client),
      watches_(watches),
      prefix_(std::move(prefix)),
      on_fact_(std::move(on_fact)),
      pause_(kPauseMin) {
  list();
}

void Follower::list() {
  listing_ = os::Pending(std::make_unique<Listing>(
      client_, prefix_, [this](Result<Listed> listed) { on_listed(std::move(listed)); }));
}

void Follower::on_listed(Result<Listed> listed) {
  if (!listed.ok()) {
    const Code code = listed.error().code;
    if (code == Code::kConflict || code == Code::kInvalid) {
      tell(listed.error());
      return;
    }
    listing_ = client_.system().after(pause_, [this] { list(); });
    pause_ = std::min(pause_ * 2, kPauseMax);
    return;
  }
  pause_ = kPauseMin;
  const auto before = std::exchange(known_, {});
  for (const KeyValue& kv : listed->kvs) {
    const auto old = before.find(kv.key);
    known_[kv.key] = kv.mod_revision;
    if (old != before.end() && old->second == kv.mod_revision) continue;
    if (!tell({Fact{Fact::Kind::kPut, kv}})) return;
  }
  for (const auto& [key, revision] : before) {
    if (!known_.contains(key) && !tell_deleted(key, listed->revision)) return;
  }
  if (tell(Fact{})) watch(listed->revision + 1);
}

void Follower::watch(Revision from) {
  WatchCreateRequest request{.key = prefix_.empty() ? std::string(1, '\0') : prefix_,
                             .range_end = prefix_end(prefix_),
                             .start_revision = from};
  watching_ =
      watches_.watch(request, [this](Result<WatchBatch> batch) { on_watch(std::move(batch)); });
}

void Follower::on_watch(Result<WatchBatch> batch) {
  if (!batch.ok()) {
    if (batch.error().code == Code::kNotFound) return list();
    tell(batch.error());
    return;
  }
  for (const Event& event : batch->events) {
    const bool told = event.type == EventType::kPut
                          ? tell_put(event.kv)
                          : tell_deleted(event.kv.key, event.kv.mod_revision);
    if (!told) return;
  }
}

bool Follower::tell_put(const KeyValue& kv) {
  known_[kv.key] = kv.mod_revision;
  return tell(Fact{Fact::Kind::kPut, kv});
}

bool Follower::tell_deleted(const std::string& key, Revision revision) {
  known_.erase(key);
  return tell(Fact{Fact::Kind::kDeleted, {.key = key, .mod_revision = revision}});
}

bool Follower::tell(Result<Fact> fact) {
  const auto alive = alive_;
  const auto on_fact = on_fact_;
  on_fact(std::move(fact));
  return *alive;
}

}  // namespace edl::store
