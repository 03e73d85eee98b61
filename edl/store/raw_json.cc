#include "edl/store/raw_json.h"

#include "edl/base/json.h"

namespace edl::store {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// One past the end of the string that begins at `at`: behind a quote with an even number of
// backslashes before it.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (;;) {
    at = text.find('"', at + 1);
    std::size_t slashes = 0;
    while (text[at - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return at + 1;
  }
}

// Where the value that begins at `at` is followed by `,`, `:` or the end of what holds it.
std::size_t value_end(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth < 0 || (depth == 0 && (c == ',' || c == ':'))) break;
    ++at;
  }
  return at;
}

// The pieces between the separators of an object or array: for an object key, value, key, ...
std::vector<std::string_view> pieces(std::string_view text) {
  std::vector<std::string_view> out;
  text = text.substr(1, text.size() - 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = value_end(text, at);
    const std::string_view piece = without_space(text.substr(at, end - at));
    if (!piece.empty()) out.push_back(piece);
    at = end + 1;
  }
  return out;
}

}  // namespace

RawJson::RawJson(std::string_view checked, int depth)
    : text_(without_space(checked)), depth_(depth) {}

RawJson::Kind RawJson::kind() const {
  switch (text_.front()) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      return Kind::kNumber;
  }
}

const char* RawJson::kind_name() const {
  constexpr const char* kNames[] = {"null", "bool", "number", "string", "array", "object"};
  return kNames[static_cast<std::size_t>(kind())];
}

std::string RawJson::string() const {
  if (quoted().find('\\') == std::string_view::npos) return std::string(quoted());
  const auto parsed = parse_json(text_, {.bytes_max = text_.size()});
  return parsed.ok() && parsed->is_string() ? parsed->get<std::string>() : std::string(quoted());
}

std::vector<RawJson> RawJson::items() const {
  std::vector<RawJson> out;
  for (const std::string_view piece : pieces(text_)) out.emplace_back(piece, depth_ + 1);
  return out;
}

std::vector<std::pair<std::string, RawJson>> RawJson::fields() const {
  const auto parts = pieces(text_);
  std::vector<std::pair<std::string, RawJson>> out;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    out.emplace_back(RawJson(parts[i]).string(), RawJson(parts[i + 1], depth_ + 1));
  }
  return out;
}

}  // namespace edl::store
