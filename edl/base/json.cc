#include "edl/base/json.h"

#include <algorithm>

template class nlohmann::basic_json<>;

namespace edl {
namespace {

// Deepest nesting of brackets outside of strings; tells before parsing what parsing would build.
int nesting(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<Json> parse_json(std::string_view input, JsonLimits limits) {
  if (input.size() > limits.bytes_max) {
    return Error{Code::kExhausted, text("JSON text of ", input.size(),
                                        " bytes is above the limit of ", limits.bytes_max)};
  }
  if (nesting(input) > limits.depth_max) {
    return Error{Code::kExhausted, text("JSON text is nested deeper than ", limits.depth_max)};
  }
  Json json = Json::parse(input, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{Code::kInvalid, "not valid JSON"};
  return json;
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JsonReader::JsonReader(const Json& json, std::string what) : json_(json), what_(std::move(what)) {
  if (!json.is_object()) fail("expected an object");
}

void JsonReader::fail(std::string_view problem) {
  if (!error_) error_ = Error{Code::kInvalid, text(what_, ": ", problem)};
}

Result<void> JsonReader::finish() const {
  if (error_) return *error_;
  return {};
}

const Json* JsonReader::find(const char* name) {
  if (error_) return nullptr;
  const auto it = json_.find(name);
  return it == json_.end() || it->is_null() ? nullptr : &*it;
}

const Json* JsonReader::require(const char* name) {
  const Json* value = find(name);
  if (value == nullptr) fail(text("field \"", name, "\" is missing"));
  return value;
}

bool JsonReader::check_array(const char* name, const Json& value) {
  if (value.is_array()) return true;
  wrong_type(name, "a list");
  return false;
}

void JsonReader::wrong_type(const char* name, std::string_view wanted) {
  fail(text("field \"", name, "\" must be ", wanted));
}

void JsonReader::convert(const char* name, const Json& value, std::string& into) {
  if (!value.is_string()) return wrong_type(name, "text");
  into = value.get_ref<const std::string&>();
}

void JsonReader::convert(const char* name, const Json& value, bool& into) {
  if (!value.is_boolean()) return wrong_type(name, "true or false");
  into = value.get<bool>();
}

void JsonReader::convert(const char* name, const Json& value, double& into) {
  if (!value.is_number()) return wrong_type(name, "a number");
  into = value.get<double>();
}

std::optional<std::uint64_t> JsonReader::integer(const char* name, const Json& value,
                                                 std::int64_t low, std::uint64_t high) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= high && (low <= 0 || number >= static_cast<std::uint64_t>(low))) return number;
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number >= low && (number < 0 || static_cast<std::uint64_t>(number) <= high)) {
      return static_cast<std::uint64_t>(number);
    }
  }
  wrong_type(name, text("a whole number from ", low, " to ", high));
  return std::nullopt;
}

}  // namespace edl
