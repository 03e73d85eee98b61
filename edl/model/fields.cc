#include "edl/model/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edl::model {
namespace {

void limit_text(JsonReader& in, const char* name, const std::string& value) {
  if (value.size() <= kTextMax) return;
  in.fail(text("field \"", name, "\" has ", value.size(), " bytes; the limit is ", kTextMax));
}

}  // namespace

void read_text(JsonReader& in, const char* name, std::string& into) {
  in.read(name, into);
  limit_text(in, name, into);
}

void read_text_optional(JsonReader& in, const char* name, std::string& into) {
  in.read_optional(name, into);
  limit_text(in, name, into);
}

Json number_json(double number) {
  if (std::isfinite(number)) return number;
  if (std::isnan(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}

Result<double> number_from(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return Error{Code::kInvalid, "expected a number, \"inf\", \"-inf\" or \"nan\""};
}

Json numbers_json(const NamedNumbers& numbers) {
  Json json = Json::object();
  for (const auto& [name, number] : numbers) json[name] = number_json(number);
  return json;
}

Result<NamedNumbers> numbers_from(const Json& json) {
  if (!json.is_object()) return Error{Code::kInvalid, "expected an object"};
  if (json.size() > kListMax) {
    return Error{Code::kInvalid, text(json.size(), " entries; the limit is ", kListMax)};
  }
  NamedNumbers numbers;
  for (const auto& [name, value] : json.items()) {
    if (name.size() > kTextMax) return Error{Code::kInvalid, "a name is too long"};
    EDL_TRY(numbers[name], number_from(value));
  }
  return numbers;
}

Json digest_json(const Digest& digest) { return hex(digest); }

Result<Digest> digest_from(const Json& json) {
  const std::string* digits = json.get_ptr<const std::string*>();
  if (digits == nullptr || digits->size() != 2 * sizeof(Digest)) {
    return Error{Code::kInvalid, text("expected ", 2 * sizeof(Digest), " hexadecimal digits")};
  }
  EDL_TRY(const Bytes bytes, parse_hex(*digits));
  Digest digest;
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

}  // namespace edl::model
