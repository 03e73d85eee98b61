// Judges a journal. The order that the server itself claims, by revisions, is taken as the witness
// and checked completely: each operation against the state that its revision says, the revisions
// against real time, the history against the operations, and what watchers and leases saw against
// the history. A violation is a sentence; none is an empty string.
#pragma once

#include <string>

#include "tests/world/store_journal.h"

namespace edl::tests {

class StoreChecker {
 public:
  explicit StoreChecker(const Journal& journal) : journal_(journal) {}

  std::string run();
  // After `run`.
  const std::map<std::string, std::uint64_t, std::less<>>& hits() const { return hits_; }
  const std::map<std::string, store::KeyValue>& final_state() const { return states_.back(); }

 private:
  using State = std::map<std::string, store::KeyValue>;
  using Events = std::vector<store::Event>;
  struct LeaseEnd {
    store::Revision revision;
    bool expired;
  };
  struct Span {
    Time earliest;
    Time latest;
  };

  void build_states();
  void check_owners();
  bool is_owned(store::Revision revision);
  bool is_owned_by_operation(store::Revision revision);
  bool is_lease_end(store::Revision revision);
  bool ends_lease(store::Revision revision, store::LeaseId lease);
  void check_operations();
  void check_operation(std::size_t index);
  void check_answer(const Operation& operation, const store::RangeRequest& request);
  void check_answer(const Operation& operation, const store::PutRequest& request);
  void check_answer(const Operation& operation, const store::DeleteRangeRequest& request);
  void check_answer(const Operation& operation, const store::TxnRequest& request);
  void check_range(const store::RangeRequest& request, const store::RangeResponse& response,
                   const State& state);
  void check_real_time();
  void check_watches();
  Span made(store::Revision revision) const;
  Time sure_end(store::LeaseId lease, const Span& ended) const;
  void check_leases();
  void check_keep_alives();
  void check_wins();
  void violate(std::string what);

  const State& state(store::Revision revision) const;
  store::Revision last() const { return static_cast<store::Revision>(states_.size()) - 1; }
  Events effect(const store::UnaryRequest& request, const State& before,
                store::Revision revision) const;

  const Journal& journal_;
  std::vector<State> states_;   // by revision
  std::vector<Events> events_;  // by revision
  std::vector<Time> seen_;      // by revision
  std::map<store::LeaseId, LeaseEnd> lease_ends_;
  std::multimap<store::Revision, std::size_t> told_;  // writes by what they were told
  std::vector<std::size_t> unknown_;                  // operations that were told nothing
  std::vector<bool> used_;                            // operations whose change is in the history
  std::map<std::string, std::uint64_t, std::less<>> hits_;
  std::string violation_;
};

store::Revision revision_of(const store::UnaryResponse& response);
// The keys that the system under test manages for its own parts, not by journaled operations.
bool is_unjournaled(std::string_view key);

}  // namespace edl::tests
