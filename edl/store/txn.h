// One transaction: first every compare chooses its branch, all against the state before; then the
// chosen requests are checked; only then anything changes.
#pragma once

#include <deque>
#include <optional>

#include "edl/store/core.h"

namespace edl::store {

class TxnRun {
 public:
  explicit TxnRun(StoreCore& core) : core_(core), start_(core.history_.revision()) {}

  std::optional<Refusal> plan(const TxnRequest& request);
  // After a plan without refusal, with the same request.
  TxnResponse perform(const TxnRequest& request);

 private:
  void choose(const TxnRequest& request);
  bool holds(const Compare& compare) const;
  std::optional<Refusal> check_puts(const TxnRequest& request);
  std::optional<Refusal> check_ranges(const TxnRequest& request);
  // Walks the chosen branches in the order in which they were chosen.
  const std::vector<RequestOp>& branch(const TxnRequest& request);

  StoreCore& core_;
  const Revision start_;
  std::vector<bool> chosen_;
  std::size_t next_ = 0;
};

}  // namespace edl::store
