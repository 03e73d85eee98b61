#include "edl/store/txn.h"

#include <algorithm>

#include "edl/store/refusals.h"

namespace edl::store {
namespace {

const TxnRequest* inner(const RequestOp& op) {
  const auto* txn = std::get_if<std::vector<TxnRequest>>(&op.request);
  return txn == nullptr ? nullptr : &txn->front();
}

template <class T>
bool compare_holds(CompareResult result, const T& left, const T& right) {
  switch (result) {
    case CompareResult::kEqual:
      return left == right;
    case CompareResult::kNotEqual:
      return left != right;
    case CompareResult::kGreater:
      return left > right;
    case CompareResult::kLess:
      return left < right;
  }
  return true;  // etcd lets a result without a name pass
}

bool compare_holds(const Compare& compare, const Version& version) {
  switch (compare.target) {
    case CompareTarget::kVersion:
      return compare_holds(compare.result, version.version, compare.version);
    case CompareTarget::kCreate:
      return compare_holds(compare.result, version.create_revision, compare.create_revision);
    case CompareTarget::kMod:
      return compare_holds(compare.result, version.place.revision(), compare.mod_revision);
    case CompareTarget::kValue:
      return compare_holds(compare.result, version.value, compare.value);
    case CompareTarget::kLease:
      return compare_holds(compare.result, version.lease, compare.lease);
  }
  return true;
}

}  // namespace

std::optional<Refusal> TxnRun::plan(const TxnRequest& request) {
  choose(request);
  next_ = 0;
  if (auto refusal = check_puts(request)) return refusal;
  next_ = 0;
  if (auto refusal = check_ranges(request)) return refusal;
  next_ = 0;
  return std::nullopt;
}

void TxnRun::choose(const TxnRequest& request) {
  const bool success = std::all_of(request.compare.begin(), request.compare.end(),
                                   [this](const Compare& compare) { return holds(compare); });
  chosen_.push_back(success);
  for (const RequestOp& op : success ? request.success : request.failure) {
    if (const TxnRequest* txn = inner(op)) choose(*txn);
  }
}

// A key that does not exist has zeros, and a value that compares to nothing.
bool TxnRun::holds(const Compare& compare) const {
  const History& history = core_.history_;
  const auto hits = history.range({compare.key, compare.range_end}, history.revision());
  if (hits.empty()) {
    return compare.target != CompareTarget::kValue && compare_holds(compare, Version{});
  }
  return std::all_of(hits.begin(), hits.end(),
                     [&](const History::Hit& hit) { return compare_holds(compare, *hit.version); });
}

const std::vector<RequestOp>& TxnRun::branch(const TxnRequest& request) {
  return chosen_[next_++] ? request.success : request.failure;
}

std::optional<Refusal> TxnRun::check_puts(const TxnRequest& request) {
  for (const RequestOp& op : branch(request)) {
    if (const TxnRequest* txn = inner(op)) {
      if (auto refusal = check_puts(*txn)) return refusal;
    } else if (const auto* put = std::get_if<PutRequest>(&op.request)) {
      const bool needs_key = put->ignore_value || put->ignore_lease;
      if (needs_key && core_.history_.find(put->key) == nullptr) return key_not_found();
      if (auto refusal = core_.check_lease(put->lease)) return refusal;
    }
  }
  return std::nullopt;
}

std::optional<Refusal> TxnRun::check_ranges(const TxnRequest& request) {
  const Revision first = core_.history_.compacted();  // here etcd looks at negative ones too
  for (const RequestOp& op : branch(request)) {
    if (const TxnRequest* txn = inner(op)) {
      if (auto refusal = check_ranges(*txn)) return refusal;
    } else if (const auto* range = std::get_if<RangeRequest>(&op.request)) {
      if (range->revision > start_) return future_revision();
      if (range->revision != 0 && range->revision < first) return compacted();
    }
  }
  return std::nullopt;
}

TxnResponse TxnRun::perform(const TxnRequest& request) {
  TxnResponse response{.header = Header{}, .succeeded = chosen_[next_]};
  for (const RequestOp& op : branch(request)) {
    ResponseOp& answer = response.responses.emplace_back();
    if (const TxnRequest* txn = inner(op)) {
      answer.response.emplace<std::vector<TxnResponse>>().push_back(perform(*txn));
    } else if (const auto* range = std::get_if<RangeRequest>(&op.request)) {
      answer.response = core_.range(*range);
    } else if (const auto* put = std::get_if<PutRequest>(&op.request)) {
      answer.response = core_.put(*put);
    } else if (const auto* remove = std::get_if<DeleteRangeRequest>(&op.request)) {
      answer.response = core_.remove(*remove);
    }
  }
  return response;
}

}  // namespace edl::store
