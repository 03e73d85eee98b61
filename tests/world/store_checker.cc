#include "tests/world/store_checker.h"

#include <algorithm>
#include <set>

#include "edl/base/text.h"

namespace edl::tests {

using store::Compare;
using store::CompareResult;
using store::CompareTarget;
using store::DeleteRangeRequest;
using store::Event;
using store::EventType;
using store::KeyValue;
using store::LeaseId;
using store::PutRequest;
using store::RangeRequest;
using store::Revision;
using store::TxnRequest;

bool is_unjournaled(std::string_view key) { return key.starts_with("/own/"); }

Revision revision_of(const store::UnaryResponse& response) {
  return std::visit(
      [](const auto& concrete) -> Revision {
        if constexpr (requires { concrete.header; }) {
          return concrete.header ? concrete.header->revision : 0;
        } else {
          return 0;
        }
      },
      response);
}

namespace {

bool is_read(const Operation& operation) {
  return std::holds_alternative<RangeRequest>(operation.request);
}

// Whether its answer's revision is ordered with those of others: leases and compactions say only
// where the store is.
bool is_ordered(const Operation& operation) {
  return is_read(operation) || std::holds_alternative<PutRequest>(operation.request) ||
         std::holds_alternative<DeleteRangeRequest>(operation.request) ||
         std::holds_alternative<TxnRequest>(operation.request);
}

// As its answer says. Our transactions write when they succeed.
bool wrote(const Operation& operation) {
  if (const auto* remove = std::get_if<store::DeleteRangeResponse>(&operation.response)) {
    return remove->deleted > 0;
  }
  if (const auto* txn = std::get_if<store::TxnResponse>(&operation.response)) {
    return txn->succeeded;
  }
  return std::holds_alternative<store::PutResponse>(operation.response);
}

bool in_range(const std::string& key, const std::string& from, const std::string& end) {
  return end.empty() ? key == from : key >= from && key < end;
}

std::int64_t number_of(const Compare& compare) {
  switch (compare.target) {
    case CompareTarget::kVersion:
      return compare.version;
    case CompareTarget::kCreate:
      return compare.create_revision;
    case CompareTarget::kMod:
      return compare.mod_revision;
    default:
      return compare.lease;
  }
}

std::int64_t number_of(const KeyValue& kv, CompareTarget target) {
  switch (target) {
    case CompareTarget::kVersion:
      return kv.version;
    case CompareTarget::kCreate:
      return kv.create_revision;
    case CompareTarget::kMod:
      return kv.mod_revision;
    default:
      return kv.lease;
  }
}

template <class T>
bool holds(CompareResult result, const T& have, const T& want) {
  if (result == CompareResult::kEqual) return have == want;
  if (result == CompareResult::kNotEqual) return have != want;
  return result == CompareResult::kGreater ? have > want : have < want;
}

bool holds(const TxnRequest& txn, const std::map<std::string, KeyValue>& state) {
  return std::all_of(txn.compare.begin(), txn.compare.end(), [&](const Compare& compare) {
    const auto found = state.find(compare.key);
    const KeyValue kv = found == state.end() ? KeyValue{} : found->second;
    if (compare.target == CompareTarget::kValue) {
      return found != state.end() && holds(compare.result, kv.value, compare.value);
    }
    return holds(compare.result, number_of(kv, compare.target), number_of(compare));
  });
}

void change_state(std::map<std::string, KeyValue>& state, const Event& event) {
  if (event.type == EventType::kDelete) {
    state.erase(event.kv.key);
  } else {
    state[event.kv.key] = event.kv;
  }
}

bool same(const std::vector<Event>& a, const std::vector<Event>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Event& x, const Event& y) {
    return x.type == y.type && x.kv == y.kv;
  });
}

}  // namespace

void StoreChecker::violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

const StoreChecker::State& StoreChecker::state(Revision revision) const {
  return states_[static_cast<std::size_t>(std::clamp(revision, Revision{0}, last()))];
}

std::string StoreChecker::run() {
  used_.assign(journal_.operations.size(), false);
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const Operation& operation = journal_.operations[i];
    if (operation.outcome == Outcome::kUnknown) unknown_.push_back(i);
    if (operation.outcome == Outcome::kDone && wrote(operation)) {
      told_.emplace(revision_of(operation.response), i);
    }
  }
  build_states();
  if (violation_.empty()) check_owners();
  if (violation_.empty()) check_operations();
  if (violation_.empty()) check_real_time();
  if (violation_.empty()) check_watches();
  if (violation_.empty()) check_leases();
  if (violation_.empty()) check_keep_alives();
  if (violation_.empty()) check_wins();
  return violation_;
}

// The history must have every revision once, in order, and each event must follow from the state
// before it.
void StoreChecker::build_states() {
  states_.assign(2, {});  // revisions 0 and 1: nothing
  events_.assign(2, {});
  seen_.assign(2, Time{});
  for (const SeenEvent& seen : journal_.history) {
    const Revision revision = seen.event.kv.mod_revision;
    if (revision == last() + 1) {
      states_.push_back(states_.back());
      events_.emplace_back();
      seen_.push_back(seen.seen);
    }
    if (revision != last()) {
      return violate(text("after revision ", last(), " the history tells ", revision));
    }
    const auto at = static_cast<std::size_t>(revision);
    KeyValue expected = seen.event.kv;
    const auto before = states_[at - 1].find(expected.key);
    const bool existed = before != states_[at - 1].end();
    expected.create_revision = existed ? before->second.create_revision : revision;
    expected.version = existed ? before->second.version + 1 : 1;
    const bool deleted = seen.event.type == EventType::kDelete;
    if (deleted && !existed) return violate(text("revision ", revision, " deletes no key"));
    if (!deleted && seen.event.kv != expected) {
      return violate(text("the put of ", expected.key, " at revision ", revision,
                          " does not follow from what was before"));
    }
    change_state(states_[at], seen.event);
    events_[at].push_back(seen.event);
  }
}

// What a request does to a state, when it is done at `revision`.
StoreChecker::Events StoreChecker::effect(const store::UnaryRequest& request, const State& before,
                                          Revision revision) const {
  Events out;
  State state = before;
  const auto put = [&](const PutRequest& one) {
    const auto found = state.find(one.key);
    const bool existed = found != state.end();
    out.push_back({EventType::kPut,
                   {.key = one.key,
                    .create_revision = existed ? found->second.create_revision : revision,
                    .mod_revision = revision,
                    .version = existed ? found->second.version + 1 : 1,
                    .value = one.value,
                    .lease = one.lease},
                   {}});
    change_state(state, out.back());
  };
  const auto remove = [&](const DeleteRangeRequest& one) {
    for (const auto& [key, kv] : State(state)) {
      if (!in_range(key, one.key, one.range_end)) continue;
      out.push_back({EventType::kDelete, {.key = key, .mod_revision = revision}, {}});
      change_state(state, out.back());
    }
  };
  if (const auto* one = std::get_if<PutRequest>(&request)) put(*one);
  if (const auto* one = std::get_if<DeleteRangeRequest>(&request)) remove(*one);
  if (const auto* txn = std::get_if<TxnRequest>(&request)) {
    for (const auto& op : holds(*txn, before) ? txn->success : txn->failure) {
      if (const auto* one = std::get_if<PutRequest>(&op.request)) put(*one);
      if (const auto* one = std::get_if<DeleteRangeRequest>(&op.request)) remove(*one);
    }
  }
  return out;
}

void StoreChecker::check_owners() {
  for (Revision revision = 2; revision <= last() && violation_.empty(); ++revision) {
    if (is_owned(revision)) continue;
    const Event& first = events_[static_cast<std::size_t>(revision)].front();
    violate(text("revision ", revision, " (", first.kv.key, " = \"", first.kv.value,
                 "\") was made by nobody, or by somebody who was told otherwise"));
  }
}

bool StoreChecker::is_owned(Revision revision) {
  const Events& events = events_[static_cast<std::size_t>(revision)];
  if (is_lease_end(revision)) return true;
  const bool own = std::all_of(events.begin(), events.end(),
                               [](const Event& event) { return is_unjournaled(event.kv.key); });
  return own || is_owned_by_operation(revision);
}

// By the one that was told this revision, or by one that never heard, once.
bool StoreChecker::is_owned_by_operation(Revision revision) {
  const Events& events = events_[static_cast<std::size_t>(revision)];
  const Time seen = seen_[static_cast<std::size_t>(revision)];
  const auto owns = [&](std::size_t i) {
    const Operation& operation = journal_.operations[i];
    if (used_[i] || operation.start > seen) return false;
    return same(effect(operation.request, state(revision - 1), revision), events);
  };
  for (auto [at, end] = told_.equal_range(revision); at != end; ++at) {
    if (owns(at->second)) return used_[at->second] = true;
  }
  for (const std::size_t i : unknown_) {
    if (!owns(i)) continue;
    ++hits_["store.unknown_write_happened"];
    return used_[i] = true;
  }
  return false;
}

bool StoreChecker::is_lease_end(Revision revision) {
  const Events& events = events_[static_cast<std::size_t>(revision)];
  std::set<LeaseId> leases;
  for (const Event& event : events) {
    if (event.type != EventType::kDelete) return false;
    leases.insert(state(revision - 1).at(event.kv.key).lease);
  }
  return leases.size() == 1 && *leases.begin() != 0 && ends_lease(revision, *leases.begin());
}

// All keys of the lease go, and nothing else. A delete of the last key of a lease looks the same,
// so an operation that was told this revision comes first.
bool StoreChecker::ends_lease(Revision revision, LeaseId lease) {
  const Events& events = events_[static_cast<std::size_t>(revision)];
  const State& before = state(revision - 1);
  const auto keys = std::count_if(before.begin(), before.end(),
                                  [&](const auto& entry) { return entry.second.lease == lease; });
  if (static_cast<std::size_t>(keys) != events.size()) return false;
  for (auto [at, end] = told_.equal_range(revision); at != end; ++at) {
    const auto& request = journal_.operations[at->second].request;
    if (same(effect(request, before, revision), events)) return false;
  }
  const Time seen = seen_[static_cast<std::size_t>(revision)];
  bool revoked = false;
  for (const Operation& operation : journal_.operations) {
    if (operation.outcome == Outcome::kNever || operation.start > seen) continue;
    const auto* revoke = std::get_if<store::LeaseRevokeRequest>(&operation.request);
    revoked = revoked || (revoke != nullptr && revoke->id == lease);
    // A delete of unknown outcome may have done it: then nothing is known about the lease.
    const bool unknown = operation.outcome == Outcome::kUnknown;
    if (unknown && same(effect(operation.request, before, revision), events)) return true;
  }
  lease_ends_[lease] = {revision, !revoked};
  return true;
}

void StoreChecker::check_operations() {
  for (std::size_t i = 0; i < journal_.operations.size() && violation_.empty(); ++i) {
    if (journal_.operations[i].outcome == Outcome::kDone) check_operation(i);
  }
}

void StoreChecker::check_operation(std::size_t index) {
  const Operation& operation = journal_.operations[index];
  const Revision revision = revision_of(operation.response);
  if (revision > last()) {
    return violate(text("operation ", index, " was told revision ", revision,
                        ", but the history ends at ", last()));
  }
  std::visit(
      [&](const auto& request) {
        if constexpr (requires { check_answer(operation, request); }) {
          check_answer(operation, request);
        }
      },
      operation.request);
  if (!violation_.empty()) violation_ = text("operation ", index, ": ", violation_);
}

void StoreChecker::check_range(const RangeRequest& request, const store::RangeResponse& response,
                               const State& now) {
  std::vector<KeyValue> expected;
  for (const auto& [key, kv] : now) {
    if (in_range(key, request.key, request.range_end)) expected.push_back(kv);
  }
  if (response.kvs != expected) {
    violate(text("a range of ", request.key, " gave ", response.kvs.size(), " keys that are not ",
                 "the ", expected.size(), " of revision ", response.header->revision));
  }
}

void StoreChecker::check_answer(const Operation& operation, const RangeRequest& request) {
  const auto& response = std::get<store::RangeResponse>(operation.response);
  const Revision at = request.revision > 0 ? request.revision : response.header->revision;
  check_range(request, response, state(at));
}

void StoreChecker::check_answer(const Operation& operation, const PutRequest& request) {
  const Revision revision = revision_of(operation.response);
  const Events& events = events_[static_cast<std::size_t>(revision)];
  if (!same(effect(request, state(revision - 1), revision), events)) {
    violate(text("the put of ", request.value, " was told revision ", revision,
                 ", where the history has something else"));
  }
  const auto end = lease_ends_.find(request.lease);
  if (end != lease_ends_.end() && end->second.revision < revision) {
    violate(text("a put at revision ", revision, " hangs on lease ", request.lease,
                 ", which ended at ", end->second.revision));
  }
}

void StoreChecker::check_answer(const Operation& operation, const DeleteRangeRequest& request) {
  const auto& response = std::get<store::DeleteRangeResponse>(operation.response);
  const Revision revision = response.header->revision;
  if (response.deleted == 0) {
    if (!effect(request, state(revision), revision).empty()) {
      violate(text("a delete of ", request.key, " found nothing at revision ", revision,
                   ", where it is"));
    }
    return;
  }
  if (!same(effect(request, state(revision - 1), revision),
            events_[static_cast<std::size_t>(revision)])) {
    violate(text("the delete of ", request.key, " was told revision ", revision,
                 ", where the history has something else"));
  }
}

void StoreChecker::check_answer(const Operation& operation, const TxnRequest& request) {
  const auto& response = std::get<store::TxnResponse>(operation.response);
  const Revision revision = response.header->revision;
  const Events after = effect(request, state(revision - 1), revision);
  const bool wrote = !after.empty() && same(after, events_[static_cast<std::size_t>(revision)]);
  const State& before = wrote ? state(revision - 1) : state(revision);
  if (response.succeeded != holds(request, before)) {
    return violate(text("a transaction at revision ", revision, " chose the wrong branch"));
  }
  if (!wrote && !effect(request, before, revision).empty()) {
    return violate(text("a transaction was told revision ", revision,
                        ", where the history has something else"));
  }
  ++hits_[response.succeeded ? "store.txn_succeeded" : "store.txn_failed"];
  const auto& branch = response.succeeded ? request.success : request.failure;
  for (std::size_t i = 0; i < branch.size(); ++i) {
    const auto* range = std::get_if<RangeRequest>(&branch[i].request);
    if (range == nullptr) continue;
    // Ranges come last in our transactions.
    check_range(*range, std::get<store::RangeResponse>(response.responses[i].response),
                state(revision));
  }
}

// Who begins after another has ended is told a later revision, or the same if he changed nothing.
void StoreChecker::check_real_time() {
  std::vector<const Operation*> by_start;
  for (const Operation& operation : journal_.operations) {
    if (operation.outcome == Outcome::kDone && is_ordered(operation)) {
      by_start.push_back(&operation);
    }
  }
  std::vector<const Operation*> by_end = by_start;
  std::sort(by_start.begin(), by_start.end(),
            [](const auto* a, const auto* b) { return a->start < b->start; });
  std::sort(by_end.begin(), by_end.end(),
            [](const auto* a, const auto* b) { return a->end < b->end; });
  Revision highest = 0;
  auto ended = by_end.begin();
  for (const Operation* operation : by_start) {
    for (; ended != by_end.end() && (*ended)->end < operation->start; ++ended) {
      highest = std::max(highest, revision_of((*ended)->response));
    }
    const Revision told = revision_of(operation->response);
    const auto index = static_cast<std::size_t>(operation - journal_.operations.data());
    if (told < highest || (used_[index] && told == highest)) {
      return violate(text("operation ", index, " was told revision ", told, ", though ", highest,
                          " was known before it began"));
    }
  }
}

void StoreChecker::check_watches() {
  for (const WatchLog& watch : journal_.watches) {
    Events expected;
    for (Revision revision = std::max<Revision>(watch.start, 2); revision <= last(); ++revision) {
      for (const Event& event : events_[static_cast<std::size_t>(revision)]) {
        if (event.kv.key.starts_with(watch.prefix)) expected.push_back(event);
      }
    }
    if (watch.over) {  // it may have ended anywhere, but only between two revisions
      const Revision told = watch.events.empty() ? 0 : watch.events.back().kv.mod_revision;
      while (!expected.empty() && expected.back().kv.mod_revision > told) expected.pop_back();
    }
    if (same(expected, watch.events)) continue;
    return violate(text("a watch of ", watch.client, " from revision ", watch.start, " saw ",
                        watch.events.size(), " events instead of ", expected.size(),
                        ", or others"));
  }
}

// When a revision was made, as narrow as the operations tell.
StoreChecker::Span StoreChecker::made(Revision revision) const {
  Span span{Time{}, seen_[static_cast<std::size_t>(revision)]};
  for (const Operation& operation : journal_.operations) {
    if (operation.outcome != Outcome::kDone || !is_ordered(operation)) continue;
    if (revision_of(operation.response) < revision) {
      span.earliest = std::max(span.earliest, operation.start);
    } else {
      span.latest = std::min(span.latest, operation.end);
    }
  }
  return span;
}

// How long a lease was sure to last: its time from when the last renewal was sent, and all of it
// again from each start of the server.
Time StoreChecker::sure_end(LeaseId lease, const Span& ended) const {
  Duration ttl{};
  Time sure{};
  for (const Operation& operation : journal_.operations) {
    if (operation.outcome != Outcome::kDone) continue;
    const auto* grant = std::get_if<store::LeaseGrantResponse>(&operation.response);
    const auto* renewal = std::get_if<store::LeaseKeepAliveResponse>(&operation.response);
    const bool granted = grant != nullptr && grant->id == lease;
    const bool renewed = renewal != nullptr && renewal->id == lease && renewal->ttl > 0;
    if (granted) ttl = std::chrono::seconds(grant->ttl);
    if (granted || renewed) sure = std::max(sure, operation.start + ttl);
  }
  for (const Time start : journal_.server_starts) {
    if (start <= ended.earliest) sure = std::max(sure, start + ttl);
  }
  return ttl > Duration::zero() ? sure : Time{};
}

void StoreChecker::check_leases() {
  for (const auto& [lease, end] : lease_ends_) {
    if (!end.expired) continue;
    ++hits_["store.lease_expired"];
    const Span ended = made(end.revision);
    const Time sure = sure_end(lease, ended);
    if (ended.latest < sure) {
      return violate(
          text("lease ", lease, " ended ", duration_text(sure - ended.latest), " too early"));
    }
  }
}

void StoreChecker::check_keep_alives() {
  for (const Operation& operation : journal_.operations) {
    if (operation.outcome != Outcome::kDone) continue;
    const auto* renewal = std::get_if<store::LeaseKeepAliveResponse>(&operation.response);
    if (renewal == nullptr) continue;
    const auto end = lease_ends_.find(renewal->id);
    if (end != lease_ends_.end() && end->second.expired &&
        renewal->header->revision >= end->second.revision) {
      return violate(text("lease ", renewal->id, " was renewed at revision ",
                          renewal->header->revision, ", but ended at ", end->second.revision));
    }
  }
}

void StoreChecker::check_wins() {
  std::map<std::uint64_t, std::string> winners;
  for (const Win& win : journal_.wins) {
    const auto& first = winners.emplace(win.ballot, win.claim).first->second;
    if (first != win.claim) return violate(text("ballot ", win.ballot, " was won twice"));
  }
}

}  // namespace edl::tests
