#include "edl/store/codec.h"

#include <charconv>

#include "edl/base/base64.h"
#include "edl/store/fields.h"

namespace edl::store {
namespace {

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

// "range_end" -> "rangeEnd".
std::string camel_case(const char* name) {
  std::string out;
  for (const char* c = name; *c != 0; ++c) {
    if (*c == '_' && c[1] != 0) {
      out += static_cast<char>(*++c - 'a' + 'A');
    } else {
      out += *c;
    }
  }
  return out;
}

const char* json_type(const Json& json) {
  return json.is_object()    ? "object"
         : json.is_array()   ? "array"
         : json.is_string()  ? "string"
         : json.is_boolean() ? "bool"
                             : "number";
}

// Keeps the first thing that is wrong.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {
    if (!json.is_object() && !json.is_null()) {
      wrong_type(json, "map[string]json.RawMessage");
    }
  }

  template <class Int>
  void integer(const char* name, Int& into) {
    const Json* value = find(name);
    if (value == nullptr) return;
    const char* const type = std::is_signed_v<Int> ? "int64" : "uint64";
    const std::string digits = value->is_string() ? value->get<std::string>() : value->dump();
    if (!value->is_string() && !value->is_number()) return wrong_type(*value, type);
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    if (failed == std::errc() && end == digits.data() + digits.size()) return;
    wrong_number(digits, type);
  }
  void flag(const char* name, bool& into) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return wrong_type(*value, "bool");
    into = value->get<bool>();
  }
  void bytes(const char* name, std::string& into) {
    if (const Json* value = find(name)) read_bytes(*value, into);
  }
  void text(const char* name, std::string& into) {
    if (const Json* value = find(name)) read_text(*value, into);
  }
  template <class Enum>
  void choice(const char* name, Enum& into, const ChoiceNames& choices) {
    if (const Json* value = find(name)) read_choice(*value, into, choices);
  }
  template <class M>
  void message(const char* name, std::optional<M>& into) {
    if (const Json* value = find(name)) accept(read_message<M>(*value), into.emplace());
  }
  template <class M>
  void always(const char* name, M& into) {
    if (const Json* value = find(name)) accept(read_message<M>(*value), into);
  }
  template <class M>
  void list(const char* name, std::vector<M>& into) {
    each(name, into, [&](const Json& item, M& element) { accept(read_message<M>(item), element); });
  }
  void bytes_list(const char* name, std::vector<std::string>& into) {
    each(name, into, [&](const Json& item, std::string& element) { read_bytes(item, element); });
  }
  void text_list(const char* name, std::vector<std::string>& into) {
    each(name, into, [&](const Json& item, std::string& element) { read_text(item, element); });
  }
  template <class Enum>
  void choice_list(const char* name, std::vector<Enum>& into, const ChoiceNames& choices) {
    each(name, into, [&](const Json& item, Enum& element) { read_choice(item, element, choices); });
  }
  template <class M, class Variant>
  void one(const char* name, Variant& variant) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if constexpr (requires(M m) { m.front(); }) {
      M& within = variant.template emplace<M>(1);
      accept(read_message<typename M::value_type>(*value), within.front());
    } else {
      accept(read_message<M>(*value), variant.template emplace<M>());
    }
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  const Json* find(const char* name) {
    if (error_ || !json_.is_object()) return nullptr;
    auto found = json_.find(name);
    if (found == json_.end()) found = json_.find(camel_case(name));
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  template <class T, class Read>
  void each(const char* name, std::vector<T>& into, Read read) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return wrong_type(*value, "[]json.RawMessage");
    for (const Json& item : *value) {
      T element{};
      read(item, element);
      if (error_) return;
      into.push_back(std::move(element));
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
  void read_text(const Json& value, std::string& into) {
    if (!value.is_string()) return wrong_type(value, "string");
    into = value.get_ref<const std::string&>();
  }
  void read_bytes(const Json& value, std::string& into) {
    if (!value.is_string()) return wrong_type(value, "[]uint8");
    accept(parse_base64(value.get_ref<const std::string&>()), into);
  }
  template <class Enum>
  void read_choice(const Json& value, Enum& into, const ChoiceNames& choices) {
    std::int64_t number = -1;
    if (value.is_string()) {
      const std::string& word = value.get_ref<const std::string&>();
      for (std::size_t i = 0; i < choices.names.size(); ++i) {
        if (choices.names[i] == word) number = static_cast<std::int64_t>(i);
      }
      if (number < 0) {
        return fail(edl::text("unknown value ", json_line(word), " for enum ", choices.type));
      }
    } else if (value.is_number_integer()) {
      number = value.get<std::int64_t>();
    } else {
      return wrong_type(value, choices.type);
    }
    into = static_cast<Enum>(number);  // perhaps one without a name
  }
  void wrong_type(const Json& value, std::string_view wanted) {
    fail(edl::text("json: cannot unmarshal ", json_type(value), " into Go value of type ", wanted));
  }
  void wrong_number(const std::string& digits, std::string_view type) {
    fail(edl::text("json: cannot unmarshal number ", digits, " into Go value of type ", type));
  }
  void fail(std::string message) {
    if (!error_) error_ = Error{Code::kInvalid, std::move(message)};
  }

  const Json& json_;
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
Result<M> read_message(const Json& json) {
  M message{};
  Reader reader(json);
  fields(reader, message);
  if (reader.error()) return *reader.error();
  return message;
}

#define EDL_STORE_MESSAGE(M)                            \
  template void append_message(std::string&, const M&); \
  template Result<M> read_message(const Json&);
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
EDL_STORE_MESSAGE(StatusRequest)
EDL_STORE_MESSAGE(StatusResponse)
EDL_STORE_MESSAGE(KeyValue)
#undef EDL_STORE_MESSAGE

}  // namespace edl::store
