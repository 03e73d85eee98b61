#include "edl/store/request_check.h"

#include <bit>
#include <set>

#include "edl/base/text.h"
#include "edl/store/refusals.h"
#include "edl/store/stream_fields.h"

namespace edl::store {
namespace {

std::int64_t varint_bytes(std::uint64_t value) { return (std::bit_width(value | 1) + 6) / 7; }

// Adds up the lengths of fields; every field number that we use needs one byte.
class Measure {
 public:
  template <class Int>
  void integer(const char*, Int value) {
    if (value != 0) bytes_ += 1 + varint_bytes(static_cast<std::uint64_t>(value));
  }
  void flag(const char*, bool value) { bytes_ += value ? 2 : 0; }
  void text(const char* name, const std::string& value) { bytes(name, value); }
  void bytes(const char*, const std::string& value) {
    if (!value.empty()) block(static_cast<std::int64_t>(value.size()));
  }
  template <class Enum>
  void choice(const char*, Enum value, const ChoiceNames&) {
    bytes_ += value == Enum{} ? 0 : 2;
  }
  template <class M>
  void message(const char*, const std::optional<M>& value) {
    if (value) block(message_bytes(*value));
  }
  template <class M>
  void always(const char*, const M& value) {
    block(message_bytes(value));
  }
  template <class Enum>
  void choice_list(const char*, const std::vector<Enum>& values, const ChoiceNames&) {
    if (!values.empty()) block(static_cast<std::int64_t>(values.size()));
  }
  template <class M>
  void list(const char*, const std::vector<M>& values) {
    for (const M& value : values) block(message_bytes(value));
  }
  template <class M, class Variant>
  void one(const char*, const Variant& variant) {
    const M* value = std::get_if<M>(&variant);
    if (value == nullptr) return;
    if constexpr (requires { value->front(); }) {
      block(message_bytes(value->front()));
    } else {
      block(message_bytes(*value));
    }
  }

  std::int64_t total() const { return bytes_; }

 private:
  void block(std::int64_t length) {
    bytes_ += 1 + varint_bytes(static_cast<std::uint64_t>(length)) + length;
  }
  std::int64_t bytes_ = 0;
};

std::optional<Refusal> check(const RangeRequest& request) {
  if (request.key.empty()) return empty_key();
  if (static_cast<std::size_t>(request.sort_target) >= kSortTargets.size()) {
    return unknown_sort_target();
  }
  return std::nullopt;
}

std::optional<Refusal> check(const PutRequest& request) {
  if (request.key.empty()) return empty_key();
  if (request.ignore_value && !request.value.empty()) return value_provided();
  if (request.ignore_lease && request.lease != 0) return lease_provided();
  return std::nullopt;
}

std::optional<Refusal> check(const DeleteRangeRequest& request) {
  if (request.key.empty()) return empty_key();
  return std::nullopt;
}

std::optional<Refusal> check(const TxnRequest& request, std::size_t ops_max);

std::optional<Refusal> check(const RequestOp& op, std::size_t ops_max) {
  if (const auto* range = std::get_if<RangeRequest>(&op.request)) return check(*range);
  if (const auto* put = std::get_if<PutRequest>(&op.request)) return check(*put);
  if (const auto* remove = std::get_if<DeleteRangeRequest>(&op.request)) return check(*remove);
  if (const auto* txn = std::get_if<std::vector<TxnRequest>>(&op.request)) {
    return check(txn->front(), ops_max);
  }
  return key_not_found();
}

std::optional<Refusal> check(const TxnRequest& request, std::size_t ops_max) {
  const std::size_t ops =
      std::max({request.compare.size(), request.success.size(), request.failure.size()});
  if (ops > ops_max) return too_many_ops();
  for (const Compare& compare : request.compare) {
    if (compare.key.empty()) return empty_key();
  }
  for (const auto* branch : {&request.success, &request.failure}) {
    for (const RequestOp& op : *branch) {
      if (auto refusal = check(op, ops_max - ops)) return refusal;
    }
  }
  return std::nullopt;
}

// The keys that a branch changes, as far as etcd looks at them: it misses some double changes
// (of two transactions within, and of deletes without an end), and so do we.
struct Touched {
  std::set<std::string_view> puts;
  std::vector<KeyRange> deletes;

  bool deletes_key(std::string_view key) const {
    for (const KeyRange& range : deletes) {
      const bool inside =
          range.single() ? key == range.begin() : key >= range.begin() && key < range.end();
      if (inside) return true;
    }
    return false;
  }
};

bool touch(const std::vector<RequestOp>& branch, Touched& out);

bool touch_within(const TxnRequest& txn, Touched& out) {
  Touched then;
  Touched otherwise;
  if (!touch(txn.success, then) || !touch(txn.failure, otherwise)) return false;
  for (const std::string_view key : then.puts) {
    if (out.deletes_key(key) || !out.puts.insert(key).second) return false;
  }
  for (const std::string_view key : otherwise.puts) {
    if (out.deletes_key(key)) return false;
    // Only one of the two branches happens, so both may put the same key.
    if (!out.puts.insert(key).second && !then.puts.contains(key)) return false;
  }
  out.deletes.insert(out.deletes.end(), then.deletes.begin(), then.deletes.end());
  out.deletes.insert(out.deletes.end(), otherwise.deletes.begin(), otherwise.deletes.end());
  return true;
}

// False when a key would change twice.
bool touch(const std::vector<RequestOp>& branch, Touched& out) {
  for (const RequestOp& op : branch) {
    if (const auto* remove = std::get_if<DeleteRangeRequest>(&op.request)) {
      out.deletes.emplace_back(remove->key, remove->range_end);
    }
  }
  for (const RequestOp& op : branch) {
    const auto* txn = std::get_if<std::vector<TxnRequest>>(&op.request);
    if (txn != nullptr && !touch_within(txn->front(), out)) return false;
  }
  for (const RequestOp& op : branch) {
    const auto* put = std::get_if<PutRequest>(&op.request);
    if (put == nullptr) continue;
    if (out.deletes_key(put->key) || !out.puts.insert(put->key).second) return false;
  }
  return true;
}

std::optional<Refusal> check_all(const TxnRequest& request, const CoreLimits& limits) {
  if (auto refusal = check(request, limits.txn_ops_max)) return refusal;
  for (const auto* branch : {&request.success, &request.failure}) {
    Touched touched;
    if (!touch(*branch, touched)) return duplicate_key();
  }
  return std::nullopt;
}

constexpr std::int64_t kEnvelopeBytes = 18;  // that etcd puts around a request: a header with an id

std::optional<Refusal> check_replicated(std::int64_t bytes, const CoreLimits& limits) {
  if (bytes + kEnvelopeBytes > limits.request_bytes_max) return request_too_large();
  return std::nullopt;
}

struct Checker {
  const CoreLimits& limits;

  template <class M>
  std::optional<Refusal> operator()(const M& request) const {
    if constexpr (requires { check(request); }) {
      return sized(request, [&] { return check(request); });
    } else if constexpr (std::is_same_v<M, TxnRequest>) {
      return sized(request, [&] { return check_all(request, limits); });
    } else {
      return std::nullopt;  // of few numbers
    }
  }

  template <class M, class Check>
  std::optional<Refusal> sized(const M& request, Check content) const {
    const std::int64_t bytes = message_bytes(request);
    if (auto refusal = check_message_size(bytes, limits)) return refusal;
    if (auto refusal = content()) return refusal;
    if constexpr (std::is_same_v<M, RangeRequest>) return std::nullopt;
    return check_replicated(bytes, limits);
  }
};

}  // namespace

template <class M>
std::int64_t message_bytes(const M& message) {
  Measure measure;
  fields(measure, message);
  return measure.total();
}
template std::int64_t message_bytes(const Event&);
template std::int64_t message_bytes(const WatchRequest&);
template std::int64_t message_bytes(const WatchResponse&);

std::optional<Refusal> check_message_size(std::int64_t bytes, const CoreLimits& limits) {
  if (bytes > limits.message_bytes_max) {
    return Refusal{8, text("grpc: received message larger than max (", bytes, " vs. ",
                           limits.message_bytes_max, ")")};
  }
  return std::nullopt;
}

std::optional<Refusal> check_request(const UnaryRequest& request, const CoreLimits& limits) {
  return std::visit(Checker{limits}, request);
}

}  // namespace edl::store
