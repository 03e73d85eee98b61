#include "tests/world/store_client.h"

#include "edl/base/text.h"

namespace edl::tests {
namespace {

using store::CompareResult;
using store::CompareTarget;
using store::Revision;

constexpr const char* kPrefix = "/r/";
constexpr std::uint64_t kKeys = 6;

std::string key_name(std::uint64_t number) { return text(kPrefix, number); }

}  // namespace

StoreClient::StoreClient(os::System& system, os::VirtualWorld& world, Journal& journal,
                         StoreClientOptions options)
    : system_(system),
      world_(world),
      journal_(journal),
      options_(std::move(options)),
      store_(system, options_.store, options_.watch),
      leader_(store_, "/own/leader") {
  Random random = draw();
  // From the beginning, or from where it knows that the auditor was.
  watch(random.once_in(2) ? 1 : std::max<Revision>(journal_.history_told, 1));
  follow();
  registration_ = std::make_unique<store::Registration>(
      store_, store::RegistrationOptions{.key = text("/own/members/", options_.id),
                                         .value = options_.id,
                                         .lease = 4s,
                                         .on_change = [this](bool registered) {
                                           world_.trace().hit(registered ? "store.registered"
                                                                         : "store.unregistered");
                                         }});
  lead();
  think();
}

StoreClient::~StoreClient() {
  journal_.watches[watch_log_].over = true;
  journal_.mirrors.erase(options_.id);
}

Random StoreClient::draw() {
  std::uint64_t chance = 0;
  system_.fill_random(std::as_writable_bytes(std::span(&chance, 1)));
  return Random(chance);
}

void StoreClient::think() {
  thinking_ = system_.after(draw().between(1ms, 500ms), [this] { act(); });
}

void StoreClient::act() {
  std::size_t mine = 0;
  for (const Operation& operation : journal_.operations) mine += operation.client == options_.id;
  if (mine >= options_.operations) return;
  Random random = draw();
  send(next_request(random));
}

store::UnaryRequest StoreClient::next_request(Random& random) {
  const std::string key = key_name(random.below(kKeys));
  const std::string value = text("op-", journal_.operations.size());
  switch (random.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return store::PutRequest{.key = key, .value = value};
    case 4:
    case 5:
    case 6:
      return next_txn(random);
    case 7:
      return store::DeleteRangeRequest{.key = key};
    case 8:
      return store::RangeRequest{.key = key};
    case 9:
      return store::RangeRequest{.key = kPrefix, .range_end = store::prefix_end(kPrefix)};
    case 10: {  // the past, if it is not compacted
      const Revision back = static_cast<Revision>(random.below(10));
      return store::RangeRequest{.key = kPrefix,
                                 .range_end = store::prefix_end(kPrefix),
                                 .revision = std::max<Revision>(seen_ - back, 1)};
    }
    case 11:  // never what the auditor has not heard
      if (!random.once_in(3)) return store::RangeRequest{.key = key};
      return store::CompactionRequest{.revision = journal_.history_told -
                                                  static_cast<Revision>(random.below(4))};
    default:
      return next_lease_request(random);
  }
}

store::UnaryRequest StoreClient::next_txn(Random& random) {
  const std::string key = key_name(random.below(kKeys));
  const std::string other = key_name(random.below(kKeys));
  const auto found = known_.find(key);
  const store::KeyValue kv = found == known_.end() ? store::KeyValue{} : found->second;
  store::Compare compare{.target = static_cast<CompareTarget>(random.below(5)),
                         .key = key,
                         .version = kv.version,
                         .create_revision = kv.create_revision,
                         .mod_revision = kv.mod_revision,
                         .value = kv.value,
                         .lease = kv.lease};
  if (random.once_in(3)) compare.result = static_cast<CompareResult>(random.below(4));
  const std::string value = text("op-", journal_.operations.size());
  store::TxnRequest txn{.compare = {compare}};
  txn.success.push_back({store::PutRequest{.key = key, .value = value}});
  if (other != key && random.once_in(2)) {
    txn.success.push_back({store::PutRequest{.key = other, .value = value}});
  } else if (other != key && random.once_in(3)) {
    txn.success.push_back({store::DeleteRangeRequest{.key = other}});
  }
  const store::RangeRequest all{.key = kPrefix, .range_end = store::prefix_end(kPrefix)};
  txn.success.push_back({all});
  txn.failure.push_back({all});
  return txn;
}

store::UnaryRequest StoreClient::next_lease_request(Random& random) {
  if (leases_.empty() || random.once_in(4)) {
    return store::LeaseGrantRequest{.ttl = random.between(2, 5)};
  }
  const store::LeaseId lease = leases_[random.below(leases_.size())];
  switch (random.below(8)) {
    case 0:
      return store::LeaseRevokeRequest{lease};
    case 1:
    case 2:
    case 3:
      return store::LeaseKeepAliveRequest{lease};
    default:
      return store::PutRequest{.key = key_name(random.below(kKeys)),
                               .value = text("op-", journal_.operations.size()),
                               .lease = lease};
  }
}

template <class Response>
store::Done<Response> StoreClient::noted(std::size_t index) {
  return [this, index](Result<Response> response) {
    if (!response.ok()) return note(index, response.error());
    note(index, store::UnaryResponse(std::move(response).value()));
  };
}

void StoreClient::send(const store::UnaryRequest& request) {
  const std::size_t index = journal_.operations.size();
  journal_.operations.push_back({.client = options_.id, .request = request, .start = world_.now()});
  store::Client& client = store_.client();
  if (const auto* range = std::get_if<store::RangeRequest>(&request)) {
    call_ = client.range(*range, noted<store::RangeResponse>(index));
  } else if (const auto* put = std::get_if<store::PutRequest>(&request)) {
    call_ = client.put(*put, noted<store::PutResponse>(index));
  } else if (const auto* remove = std::get_if<store::DeleteRangeRequest>(&request)) {
    call_ = client.remove(*remove, noted<store::DeleteRangeResponse>(index));
  } else if (const auto* txn = std::get_if<store::TxnRequest>(&request)) {
    call_ = client.txn(*txn, noted<store::TxnResponse>(index));
  } else if (const auto* compaction = std::get_if<store::CompactionRequest>(&request)) {
    call_ = client.compact(*compaction, noted<store::CompactionResponse>(index));
  } else if (const auto* grant = std::get_if<store::LeaseGrantRequest>(&request)) {
    call_ = client.grant(*grant, noted<store::LeaseGrantResponse>(index));
  } else if (const auto* revoke = std::get_if<store::LeaseRevokeRequest>(&request)) {
    call_ = client.revoke(*revoke, noted<store::LeaseRevokeResponse>(index));
  } else if (const auto* renewal = std::get_if<store::LeaseKeepAliveRequest>(&request)) {
    call_ = client.keep_alive(*renewal, noted<store::LeaseKeepAliveResponse>(index));
  }
}

void StoreClient::note(std::size_t index, Result<store::UnaryResponse> response) {
  Operation& operation = journal_.operations[index];
  operation.end = world_.now();
  if (response.ok()) {
    operation.outcome = Outcome::kDone;
    operation.response = std::move(response).value();
    learn(operation.response);
  } else if (response.error().code == Code::kTimeout) {
    world_.trace().hit("store.unknown_outcome");
  } else {
    operation.outcome = Outcome::kNever;
    world_.trace().hit(text("store.refused_", code_name(response.error().code)));
    const auto* renewal = std::get_if<store::LeaseKeepAliveRequest>(&operation.request);
    if (renewal != nullptr && response.error().code == Code::kNotFound) {
      world_.trace().hit("store.renewal_of_dead_lease");
      std::erase(leases_, renewal->id);
    }
  }
  think();
}

void StoreClient::learn(const store::UnaryResponse& response) {
  seen_ = std::max(seen_, store_.client().highest_revision());
  if (const auto* range = std::get_if<store::RangeResponse>(&response)) {
    for (const store::KeyValue& kv : range->kvs) known_[kv.key] = kv;
  }
  if (const auto* grant = std::get_if<store::LeaseGrantResponse>(&response)) {
    leases_.push_back(grant->id);
  }
}

void StoreClient::watch(Revision from) {
  watch_log_ = journal_.watches.size();
  journal_.watches.push_back({.client = options_.id, .prefix = kPrefix, .start = from});
  watching_ = store_.watches().watch(
      {.key = kPrefix, .range_end = store::prefix_end(kPrefix), .start_revision = from},
      [this](Result<store::WatchBatch> batch) {
        WatchLog& log = journal_.watches[watch_log_];
        if (!batch.ok()) {
          world_.trace().hit("store.watch_compacted");
          log.over = true;
          watching_ =
              system_.after(50ms, [this] { watch(std::max<Revision>(journal_.history_told, 1)); });
          return;
        }
        for (store::Event& event : batch->events) log.events.push_back(std::move(event));
        log.told = batch->revision;
      });
}

void StoreClient::follow() {
  auto& mirror = journal_.mirrors[options_.id];
  mirror.clear();
  following_ = store_.follow(kPrefix, [this, &mirror](Result<store::Fact> fact) {
    if (!fact.ok()) return world_.trace().hit("store.follow_failed");
    if (fact->kind == store::Fact::Kind::kPut) mirror[fact->kv.key] = fact->kv.value;
    if (fact->kind == store::Fact::Kind::kDeleted) mirror.erase(fact->kv.key);
  });
}

// Looks who leads and takes the lead after him, again and again.
void StoreClient::lead() {
  leading_ = system_.after(draw().between(1s, 8s), [this] {
    leading_ = leader_.find([this](Result<store::Leadership> found) {
      if (!found.ok()) return lead();
      leading_ = leader_.take(options_.id, *found, 3s, [this, before = *found](auto taken) {
        if (taken.ok() && taken->id == options_.id && taken->ballot == before.ballot + 1) {
          journal_.wins.push_back({taken->ballot, taken->claim});
          world_.trace().hit("store.led");
        }
        lead();
      });
    });
  });
}

}  // namespace edl::tests
