#include "edl/store/codec.h"

#include <charconv>

#include "edl/base/base64.h"
#include "edl/base/json.h"
#include "edl/store/json_scanner.h"
#include "edl/store/stream_fields.h"

namespace edl::store {
namespace {

// Deeper transactions are not read. Each lies in an object in a list in an object, and no more
// than 128 of them within each other are allowed anyway.
constexpr int kDepthMax = 3 * 140;

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) { out_ += '{'; }

  template <class Int>
  void integer(const char* name, Int value) {
    if (value == 0) return;
    begin(name);
    out_ += '"';
    out_ += std::to_string(value);
    out_ += '"';
  }
  void flag(const char* name, bool value) {
    if (!value) return;
    begin(name);
    out_ += "true";
  }
  void bytes(const char* name, const std::string& value) {
    if (value.empty()) return;
    begin(name);
    quote_bytes(value);
  }
  void text(const char* name, const std::string& value) {
    if (value.empty()) return;
    begin(name);
    out_ += json_line(value);
  }
  template <class Enum>
  void choice(const char* name, Enum value, const ChoiceNames& choices) {
    if (value == Enum{}) return;
    begin(name);
    name_choice(value, choices);
  }
  template <class M>
  void message(const char* name, const std::optional<M>& value) {
    if (value) always(name, *value);
  }
  template <class M>
  void always(const char* name, const M& value) {
    begin(name);
    append_message(out_, value);
  }
  template <class M>
  void list(const char* name, const std::vector<M>& values) {
    each(name, values, [&](const M& value) { append_message(out_, value); });
  }
  void bytes_list(const char* name, const std::vector<std::string>& values) {
    each(name, values, [&](const std::string& value) { quote_bytes(value); });
  }
  void text_list(const char* name, const std::vector<std::string>& values) {
    each(name, values, [&](const std::string& value) { out_ += json_line(value); });
  }
  template <class Enum>
  void choice_list(const char* name, const std::vector<Enum>& values, const ChoiceNames& choices) {
    each(name, values, [&](Enum value) { name_choice(value, choices); });
  }
  template <class M, class Variant>
  void one(const char* name, const Variant& variant) {
    const M* value = std::get_if<M>(&variant);
    if (value == nullptr) return;
    if constexpr (requires { value->front(); }) {
      always(name, value->front());
    } else {
      always(name, *value);
    }
  }
  void finish() { out_ += '}'; }

 private:
  void begin(const char* name) {
    if (!first_) out_ += ',';
    first_ = false;
    quote(name);
    out_ += ':';
  }
  void quote(std::string_view word) {
    out_ += '"';
    out_ += word;
    out_ += '"';
  }
  template <class Enum>
  void name_choice(Enum value, const ChoiceNames& choices) {
    const auto number = static_cast<std::size_t>(value);
    if (number < choices.names.size()) return quote(choices.names[number]);
    out_ += std::to_string(static_cast<int>(value));
  }
  void quote_bytes(const std::string& value) {
    out_ += '"';
    append_base64(out_, value);
    out_ += '"';
  }
  template <class T, class Write>
  void each(const char* name, const std::vector<T>& values, Write write) {
    if (values.empty()) return;
    begin(name);
    out_ += '[';
    for (const T& value : values) {
      if (&value != values.data()) out_ += ',';
      write(value);
    }
    out_ += ']';
  }

  std::string& out_;
  bool first_ = true;
};

// Whether `key` is `name` in the other style: "rangeEnd" for "range_end".
bool is_camel_case(std::string_view key, std::string_view name) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < name.size(); ++i, ++at) {
    const bool upper = name[i] == '_' && i + 1 < name.size();
    const char wanted = upper ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
    if (at >= key.size() || key[at] != wanted) return false;
  }
  return at == key.size();
}

std::string unmarshal_problem(std::string_view what, std::string_view type) {
  return text("json: cannot unmarshal ", what, " into Go value of type ", type);
}

// As Go reads a number; `type` is its name for the number's type.
template <class Int>
Result<Int> read_integer(const RawJson& json, std::string_view type) {
  using Kind = RawJson::Kind;
  if (json.kind() == Kind::kNull) return Int{};
  const std::string_view digits = json.text();
  if (json.kind() != Kind::kNumber) {
    return Error{Code::kInvalid, unmarshal_problem(json.kind_name(), type)};
  }
  Int number{};
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed == std::errc() && end == digits.data() + digits.size()) return number;
  return Error{Code::kInvalid, unmarshal_problem(text("number ", digits), type)};
}

// A string that stands for a number holds JSON of its own.
template <class Int>
Result<Int> read_number(const RawJson& json) {
  const std::string_view type = std::is_signed_v<Int> ? "int64" : "uint64";
  if (json.kind() != RawJson::Kind::kString) return read_integer<Int>(json, type);
  EDL_TRY(check_json(json.quoted()));
  return read_integer<Int>(RawJson(json.quoted()), type);
}

Result<std::string> read_bytes(const RawJson& json) {
  if (json.kind() == RawJson::Kind::kString) return parse_base64(json.string());
  if (json.kind() != RawJson::Kind::kArray) {
    return Error{Code::kInvalid, unmarshal_problem(json.kind_name(), "[]uint8")};
  }
  std::string bytes;
  for (const RawJson& item : json.items()) {
    EDL_TRY(const std::uint8_t byte, read_integer<std::uint8_t>(item, "uint8"));
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

Result<std::string> read_text(const RawJson& json) {
  if (json.kind() == RawJson::Kind::kString) return json.string();
  return Error{Code::kInvalid, unmarshal_problem(json.kind_name(), "string")};
}

// By name, or by any number, also one without a name.
Result<std::int32_t> read_choice(const RawJson& json, const ChoiceNames& choices) {
  if (json.kind() != RawJson::Kind::kString) return read_integer<std::int32_t>(json, choices.type);
  for (std::size_t i = 0; i < choices.names.size(); ++i) {
    if (choices.names[i] == json.quoted()) return static_cast<std::int32_t>(i);
  }
  return Error{Code::kInvalid, text("unknown value ", json_line(std::string(json.quoted())),
                                    " for enum ", choices.type)};
}

// Keeps the first thing that is wrong.
class Reader {
 public:
  explicit Reader(const RawJson& json) {
    if (json.kind() == RawJson::Kind::kObject) {
      fields_ = json.fields();
    } else if (json.kind() != RawJson::Kind::kNull) {
      fail(unmarshal_problem(json.kind_name(), "map[string]json.RawMessage"));
    }
  }

  template <class Int>
  void integer(const char* name, Int& into) {
    if (const RawJson* value = find(name)) accept(read_number<Int>(*value), into);
  }
  void flag(const char* name, bool& into) {
    const RawJson* value = find(name);
    if (value == nullptr) return;
    if (value->kind() != RawJson::Kind::kBool) {
      return fail(unmarshal_problem(value->kind_name(), "bool"));
    }
    into = value->text() == "true";
  }
  void bytes(const char* name, std::string& into) {
    if (const RawJson* value = find(name)) accept(read_bytes(*value), into);
  }
  void text(const char* name, std::string& into) {
    if (const RawJson* value = find(name)) accept(read_text(*value), into);
  }
  template <class Enum>
  void choice(const char* name, Enum& into, const ChoiceNames& choices) {
    if (const RawJson* value = find(name)) accept_choice(read_choice(*value, choices), into);
  }
  template <class M>
  void message(const char* name, std::optional<M>& into) {
    if (const RawJson* value = find(name)) accept(read_message<M>(*value), into.emplace());
  }
  template <class M>
  void always(const char* name, M& into) {
    if (const RawJson* value = find(name)) accept(read_message<M>(*value), into);
  }
  template <class M>
  void list(const char* name, std::vector<M>& into) {
    each(name, [&](const RawJson& item) { accept(read_message<M>(item), into.emplace_back()); });
  }
  void bytes_list(const char* name, std::vector<std::string>& into) {
    each(name, [&](const RawJson& item) { accept(read_bytes(item), into.emplace_back()); });
  }
  void text_list(const char* name, std::vector<std::string>& into) {
    each(name, [&](const RawJson& item) { accept(read_text(item), into.emplace_back()); });
  }
  template <class Enum>
  void choice_list(const char* name, std::vector<Enum>& into, const ChoiceNames& choices) {
    const RawJson* value = find(name);
    if (value != nullptr && value->kind() == RawJson::Kind::kString) {
      return fail(edl::text("invalid target \"slice\" for enum ", choices.type));
    }
    each(name, [&](const RawJson& item) {
      accept_choice(read_choice(item, choices), into.emplace_back());
    });
  }
  template <class M, class Variant>
  void one(const char* name, Variant& variant) {
    const RawJson* value = find(name);
    if (value == nullptr || value->depth() > kDepthMax) return;
    if constexpr (requires(M m) { m.front(); }) {
      M& within = variant.template emplace<M>(1);
      accept(read_message<typename M::value_type>(*value), within.front());
    } else {
      accept(read_message<M>(*value), variant.template emplace<M>());
    }
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  // Of several with one name the last counts.
  const RawJson* find(std::string_view name) {
    if (error_) return nullptr;
    const RawJson* found = nullptr;
    for (const auto& [key, value] : fields_) {
      if (key == name || is_camel_case(key, name)) found = &value;
    }
    return found == nullptr || found->kind() == RawJson::Kind::kNull ? nullptr : found;
  }
  template <class Read>
  void each(const char* name, Read read) {
    const RawJson* value = find(name);
    if (value == nullptr) return;
    if (value->kind() != RawJson::Kind::kArray) {
      return fail(unmarshal_problem(value->kind_name(), "[]json.RawMessage"));
    }
    for (const RawJson& item : value->items()) {
      read(item);
      if (error_) return;
    }
  }
  template <class T>
  void accept(Result<T> result, T& into) {
    if (result.ok()) {
      into = std::move(result).value();
    } else {
      fail(result.error().message);
    }
  }
  template <class Enum>
  void accept_choice(const Result<std::int32_t>& number, Enum& into) {
    if (!number.ok()) return fail(number.error().message);
    into = static_cast<Enum>(*number);
  }
  void fail(std::string message) {
    if (!error_) error_ = Error{Code::kInvalid, std::move(message)};
  }

  std::vector<std::pair<std::string, RawJson>> fields_;
  std::optional<Error> error_;
};

}  // namespace

template <class M>
void append_message(std::string& out, const M& message) {
  Writer writer(out);
  fields(writer, message);
  writer.finish();
}

template <class M>
Result<M> read_message(const RawJson& json) {
  M message{};
  Reader reader(json);
  fields(reader, message);
  if (reader.error()) return *reader.error();
  return message;
}

#define EDL_STORE_MESSAGE(M)                            \
  template void append_message(std::string&, const M&); \
  template Result<M> read_message(const RawJson&);
EDL_STORE_MESSAGE(RangeRequest)
EDL_STORE_MESSAGE(RangeResponse)
EDL_STORE_MESSAGE(PutRequest)
EDL_STORE_MESSAGE(PutResponse)
EDL_STORE_MESSAGE(DeleteRangeRequest)
EDL_STORE_MESSAGE(DeleteRangeResponse)
EDL_STORE_MESSAGE(TxnRequest)
EDL_STORE_MESSAGE(TxnResponse)
EDL_STORE_MESSAGE(CompactionRequest)
EDL_STORE_MESSAGE(CompactionResponse)
EDL_STORE_MESSAGE(LeaseGrantRequest)
EDL_STORE_MESSAGE(LeaseGrantResponse)
EDL_STORE_MESSAGE(LeaseRevokeRequest)
EDL_STORE_MESSAGE(LeaseRevokeResponse)
EDL_STORE_MESSAGE(LeaseKeepAliveRequest)
EDL_STORE_MESSAGE(LeaseKeepAliveResponse)
EDL_STORE_MESSAGE(LeaseTimeToLiveRequest)
EDL_STORE_MESSAGE(LeaseTimeToLiveResponse)
EDL_STORE_MESSAGE(LeaseLeasesRequest)
EDL_STORE_MESSAGE(LeaseLeasesResponse)
EDL_STORE_MESSAGE(WatchRequest)
EDL_STORE_MESSAGE(WatchResponse)
EDL_STORE_MESSAGE(KeepAliveLine)
EDL_STORE_MESSAGE(WatchLine)
EDL_STORE_MESSAGE(RefusalBody)
EDL_STORE_MESSAGE(StatusRequest)
EDL_STORE_MESSAGE(StatusResponse)
EDL_STORE_MESSAGE(KeyValue)
#undef EDL_STORE_MESSAGE

}  // namespace edl::store
