#include "edl/cli/txn_form.h"

#include <algorithm>
#include <iterator>

#include "edl/base/base64.h"
#include "edl/base/json.h"
#include "edl/cli/store_keys.h"

namespace edl::cli {
namespace {

constexpr std::string_view kWhole = "top level";
constexpr JsonLimits kLimits{.bytes_max = 8 << 20, .depth_max = 64};

using Names = std::vector<std::string>;
template <class T>
struct Word {
  std::string_view word;
  T meaning;
};

constexpr Word<store::CompareTarget> kTargets[] = {{"version", store::CompareTarget::kVersion},
                                                   {"create", store::CompareTarget::kCreate},
                                                   {"mod", store::CompareTarget::kMod},
                                                   {"value", store::CompareTarget::kValue},
                                                   {"lease", store::CompareTarget::kLease}};
constexpr Word<store::CompareResult> kResults[] = {{"equal", store::CompareResult::kEqual},
                                                   {"greater", store::CompareResult::kGreater},
                                                   {"less", store::CompareResult::kLess},
                                                   {"not_equal", store::CompareResult::kNotEqual}};
constexpr Word<store::SortOrder> kOrders[] = {{"ascend", store::SortOrder::kAscend},
                                              {"descend", store::SortOrder::kDescend}};
constexpr Word<store::SortTarget> kSorts[] = {{"key", store::SortTarget::kKey},
                                              {"version", store::SortTarget::kVersion},
                                              {"create", store::SortTarget::kCreate},
                                              {"mod", store::SortTarget::kMod},
                                              {"value", store::SortTarget::kValue}};
constexpr std::string_view kKeyFields[] = {"key",      "key_base64", "prefix",
                                           "from_key", "range_end",  "range_end_base64"};

// One object of the form: `what` is the way to it, as in "success[0].put".
class Form {
 public:
  Form(const Json& json, std::string what, Names known)
      : json_(json), what_(std::move(what)), known_(std::move(known)), in_(json, what_) {
    if (!json.is_object()) return;
    for (const auto& [name, value] : json.items()) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) refuse(name);
    }
  }

  JsonReader& in() { return in_; }
  const Json& json() const { return json_; }
  std::string below(std::string_view name) const {
    return what_ == kWhole ? std::string(name) : text(what_, ".", name);
  }

  // Text in `name`, or any bytes in `name`_base64.
  std::optional<std::string> bytes(const std::string& name) {
    std::optional<std::string> plain;
    std::optional<std::string> encoded;
    const std::string encoded_name = name + "_base64";
    in_.read_optional(name.c_str(), plain);
    in_.read_optional(encoded_name.c_str(), encoded);
    if (!encoded) return plain;
    if (plain) in_.fail(text("give \"", name, "\" or \"", encoded_name, "\", not both"));
    const auto decoded = parse_base64(*encoded);
    if (!decoded.ok()) {
      in_.fail(text("field \"", encoded_name, "\": ", decoded.error().message));
      return std::nullopt;
    }
    return *decoded;
  }

  template <class T, std::size_t count>
  void word(const char* name, T& into, const Word<T> (&words)[count]) {
    std::optional<std::string> given;
    in_.read_optional(name, given);
    if (!given) return;
    Names names;
    for (const auto& [known, meaning] : words) {
      if (known == *given) {
        into = meaning;
        return;
      }
      names.emplace_back(known);
    }
    in_.fail(
        text("field \"", name, "\" is \"", *given, "\", but must be one of ", list_text(names)));
  }

  template <class Request>
  void keys(Request& request) {
    KeySelection selection;
    const auto key = bytes("key");
    if (!key) in_.fail("field \"key\" is missing");
    selection.key = key.value_or("");
    in_.read_optional("prefix", selection.prefix);
    in_.read_optional("from_key", selection.from_key);
    selection.range_end = bytes("range_end");
    const int ways = selection.prefix + selection.from_key + selection.range_end.has_value();
    if (ways > 1) in_.fail("give one of \"prefix\", \"from_key\" and \"range_end\"");
    selection.apply_to(request);
  }

 private:
  void refuse(const std::string& name) {
    const std::string meant = closest(name, known_);
    in_.fail(text("there is no field \"", name, "\"",
                  meant.empty() ? text("; there are ", list_text(known_))
                                : text(" (did you mean \"", meant, "\"?)")));
  }

  const Json& json_;
  const std::string what_;
  const Names known_;
  JsonReader in_;
};

Names with_keys(Names names) {
  names.insert(names.begin(), std::begin(kKeyFields), std::end(kKeyFields));
  return names;
}

// Where the wanted number lies depends on the target.
std::int64_t& wanted_number(store::Compare& compare) {
  switch (compare.target) {
    case store::CompareTarget::kCreate:
      return compare.create_revision;
    case store::CompareTarget::kMod:
      return compare.mod_revision;
    case store::CompareTarget::kLease:
      return compare.lease;
    default:
      return compare.version;
  }
}

Result<store::Compare> parse_compare(const Json& json, const std::string& what) {
  Form form(json, what, with_keys({"target", "result", "value", "value_base64"}));
  store::Compare compare;
  form.keys(compare);
  if (!form.in().has("target")) form.in().fail("field \"target\" is missing");
  form.word("target", compare.target, kTargets);
  form.word("result", compare.result, kResults);
  if (compare.target == store::CompareTarget::kValue) {
    const auto value = form.bytes("value");
    if (!value) form.in().fail("field \"value\" is missing");
    compare.value = value.value_or("");
  } else {
    form.in().read("value", wanted_number(compare));
  }
  EDL_TRY(form.in().finish());
  return compare;
}

Result<store::Request> parse_put(const Json& json, const std::string& what) {
  Form form(json, what,
            {"key", "key_base64", "value", "value_base64", "lease", "prev", "ignore_value",
             "ignore_lease"});
  store::PutRequest put;
  const auto key = form.bytes("key");
  const auto value = form.bytes("value");
  form.in().read_optional("lease", put.lease);
  form.in().read_optional("prev", put.prev_kv);
  form.in().read_optional("ignore_value", put.ignore_value);
  form.in().read_optional("ignore_lease", put.ignore_lease);
  if (!key) form.in().fail("field \"key\" is missing");
  if (!value && !put.ignore_value) form.in().fail("field \"value\" is missing");
  EDL_TRY(form.in().finish());
  put.key = *key;
  put.value = value.value_or("");
  return store::Request(std::move(put));
}

Result<store::Request> parse_get(const Json& json, const std::string& what) {
  Form form(json, what,
            with_keys({"limit", "revision", "order", "sort_by", "keys_only", "count_only"}));
  store::RangeRequest range;
  form.keys(range);
  form.in().read_optional("limit", range.limit);
  form.in().read_optional("revision", range.revision);
  form.word("order", range.sort_order, kOrders);
  form.word("sort_by", range.sort_target, kSorts);
  form.in().read_optional("keys_only", range.keys_only);
  form.in().read_optional("count_only", range.count_only);
  EDL_TRY(form.in().finish());
  return store::Request(std::move(range));
}

Result<store::Request> parse_delete(const Json& json, const std::string& what) {
  Form form(json, what, with_keys({"prev"}));
  store::DeleteRangeRequest removed;
  form.keys(removed);
  form.in().read_optional("prev", removed.prev_kv);
  EDL_TRY(form.in().finish());
  return store::Request(std::move(removed));
}

Result<store::TxnRequest> parse_whole(const Json& json, const std::string& what);

Result<store::RequestOp> parse_operation(const Json& json, const std::string& what) {
  Form form(json, what, {"put", "get", "delete", "txn"});
  EDL_TRY(form.in().finish());
  if (json.size() != 1) {
    return Error{Code::kInvalid, text(what, ": write exactly one of put, get, delete and txn")};
  }
  const std::string& name = json.begin().key();
  const Json& below = *json.begin();
  store::RequestOp operation;
  if (name == "txn") {
    EDL_TRY(store::TxnRequest inner, parse_whole(below, form.below(name)));
    operation.request = std::vector<store::TxnRequest>{std::move(inner)};
    return operation;
  }
  const auto parse = name == "put" ? parse_put : name == "get" ? parse_get : parse_delete;
  EDL_TRY(operation.request, parse(below, form.below(name)));
  return operation;
}

template <class T>
Result<void> parse_list(Form& form, const char* name, std::vector<T>& into,
                        Result<T> (*parse)(const Json&, const std::string&)) {
  if (!form.in().has(name)) return {};
  const Json& list = form.json().at(name);
  if (!list.is_array()) {
    return Error{Code::kInvalid, text(form.below(name), " must be a list")};
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    EDL_TRY(T parsed, parse(list[i], text(form.below(name), "[", i, "]")));
    into.push_back(std::move(parsed));
  }
  return {};
}

Result<store::TxnRequest> parse_whole(const Json& json, const std::string& what) {
  Form form(json, what, {"compare", "success", "failure"});
  EDL_TRY(form.in().finish());
  store::TxnRequest txn;
  EDL_TRY(parse_list(form, "compare", txn.compare, parse_compare));
  EDL_TRY(parse_list(form, "success", txn.success, parse_operation));
  EDL_TRY(parse_list(form, "failure", txn.failure, parse_operation));
  return txn;
}

}  // namespace

Result<store::TxnRequest> parse_txn(std::string_view input) {
  const auto json = parse_json(input, kLimits);
  if (!json.ok()) {
    return Error{json.error().code, text("cannot read the transaction: ", json.error().message)};
  }
  auto txn = parse_whole(*json, std::string(kWhole));
  if (txn.ok()) return txn;
  return Error{txn.error().code, text("cannot read the transaction: ", txn.error().message)};
}

}  // namespace edl::cli
