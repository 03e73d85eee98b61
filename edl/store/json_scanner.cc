#include "edl/store/json_scanner.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "edl/base/text.h"

namespace edl::store {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// A byte between quotes, as Go prints it.
std::string quoted(char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<std::uint8_t>(c);
  std::string inner;
  if (c == '\'' || c == '\\') {
    inner = {'\\', c};
  } else if (c == '\n' || c == '\r' || c == '\t') {
    inner = {'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'};
  } else if (byte < 0x20 || byte == 0x7f) {
    inner = text("\\x", kHex[byte >> 4], kHex[byte & 15]);
  } else if (byte < 0x80) {
    inner = c;
  } else if (byte < 0xa0 || byte == 0xad) {
    inner = text("\\u00", kHex[byte >> 4], kHex[byte & 15]);
  } else {  // as Latin-1, in UTF-8
    inner = {static_cast<char>(0xc0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3f))};
  }
  return text('\'', inner, '\'');
}

}  // namespace

JsonScanner::Step JsonScanner::wrong(char c, std::string_view where) {
  error_ = text("invalid character ", quoted(c), " ", where);
  return Step::kWrong;
}

JsonScanner::Step JsonScanner::step(char c) {
  switch (state_) {
    case State::kBeginValue:
    case State::kBeginValueOrEnd:
      return begin_value(c);
    case State::kBeginKey:
      return begin_key(c, false);
    case State::kBeginKeyOrEnd:
      return begin_key(c, true);
    case State::kEndValue:
      return end_value(c);
    case State::kInString:
    case State::kInEscape:
    case State::kInUnicode:
      return in_string(c);
    case State::kInLiteral:
      return in_literal(c);
    case State::kEnd:
      return is_space(c) ? Step::kEnded : wrong(c, "after top-level value");
    default:
      return in_number(c);
  }
}

JsonScanner::Step JsonScanner::begin_value(char c) {
  if (is_space(c)) return Step::kMore;
  if (c == ']' && state_ == State::kBeginValueOrEnd) return close();
  const auto open = [&](Open what, State next) {
    if (open_.size() == depth_max_) {
      return wrong(c, "exceeded max depth");
    }
    open_.push_back(what);
    state_ = next;
    return Step::kMore;
  };
  if (c == '{') return open(Open::kKey, State::kBeginKeyOrEnd);
  if (c == '[') return open(Open::kArray, State::kBeginValueOrEnd);
  literal_ = c == 't' ? "true" : c == 'f' ? "false" : c == 'n' ? "null" : "";
  if (c == '"') {
    state_ = State::kInString;
  } else if (c == '-') {
    state_ = State::kMinus;
  } else if (is_digit(c)) {
    state_ = c == '0' ? State::kZero : State::kDigits;
  } else if (!literal_.empty()) {
    literal_at_ = 1;
    state_ = State::kInLiteral;
  } else {
    return wrong(c, "looking for beginning of value");
  }
  return Step::kMore;
}

JsonScanner::Step JsonScanner::begin_key(char c, bool may_end) {
  if (is_space(c)) return Step::kMore;
  if (c == '}' && may_end) return close();
  if (c != '"') return wrong(c, "looking for beginning of object key string");
  state_ = State::kInString;
  return Step::kMore;
}

// An object or array ends.
JsonScanner::Step JsonScanner::close() {
  open_.pop_back();
  state_ = open_.empty() ? State::kEnd : State::kEndValue;
  return open_.empty() ? Step::kLast : Step::kMore;
}

JsonScanner::Step JsonScanner::end_value(char c) {
  if (is_space(c)) return Step::kMore;
  switch (open_.back()) {
    case Open::kKey:
      if (c != ':') return wrong(c, "after object key");
      open_.back() = Open::kValue;
      state_ = State::kBeginValue;
      return Step::kMore;
    case Open::kValue:
      if (c == '}') return close();
      if (c != ',') return wrong(c, "after object key:value pair");
      open_.back() = Open::kKey;
      state_ = State::kBeginKey;
      return Step::kMore;
    case Open::kArray:
      if (c == ']') return close();
      if (c != ',') return wrong(c, "after array element");
      state_ = State::kBeginValue;
      return Step::kMore;
  }
  return Step::kWrong;
}

JsonScanner::Step JsonScanner::in_string(char c) {
  if (state_ == State::kInEscape) {
    if (c == 'u') {
      hex_left_ = 4;
      state_ = State::kInUnicode;
    } else if (std::string_view("bfnrt\\/\"").find(c) != std::string_view::npos) {
      state_ = State::kInString;
    } else {
      return wrong(c, "in string escape code");
    }
  } else if (state_ == State::kInUnicode) {
    if (!is_hex(c)) return wrong(c, "in \\u hexadecimal character escape");
    if (--hex_left_ == 0) state_ = State::kInString;
  } else if (c == '"') {
    state_ = open_.empty() ? State::kEnd : State::kEndValue;
    if (open_.empty()) return Step::kLast;
  } else if (c == '\\') {
    state_ = State::kInEscape;
  } else if (static_cast<std::uint8_t>(c) < 0x20) {
    return wrong(c, "in string literal");
  }
  return Step::kMore;
}

JsonScanner::Step JsonScanner::in_literal(char c) {
  if (c != literal_[literal_at_]) {
    return wrong(c, text("in literal ", literal_, " (expecting '", literal_[literal_at_], "')"));
  }
  if (++literal_at_ < literal_.size()) return Step::kMore;
  state_ = open_.empty() ? State::kEnd : State::kEndValue;
  return open_.empty() ? Step::kLast : Step::kMore;
}

JsonScanner::Step JsonScanner::in_number(char c) {
  const bool digit = is_digit(c);
  const bool e = c == 'e' || c == 'E';
  const auto go = [&](State next) {
    state_ = next;
    return Step::kMore;
  };
  switch (state_) {
    case State::kMinus:
      if (!digit) return wrong(c, "in numeric literal");
      return go(c == '0' ? State::kZero : State::kDigits);
    case State::kPoint:
      return digit ? go(State::kFraction) : wrong(c, "after decimal point in numeric literal");
    case State::kExponent:
      if (c == '+' || c == '-') return go(State::kExponentSign);
      [[fallthrough]];
    case State::kExponentSign:
      return digit ? go(State::kExponentDigits) : wrong(c, "in exponent of numeric literal");
    case State::kDigits:
      if (digit) return Step::kMore;
      [[fallthrough]];
    case State::kZero:
      if (c == '.') return go(State::kPoint);
      return e ? go(State::kExponent) : number_ended(c);
    case State::kFraction:
      if (digit) return Step::kMore;
      return e ? go(State::kExponent) : number_ended(c);
    default:
      return digit ? Step::kMore : number_ended(c);
  }
}

JsonScanner::Step JsonScanner::number_ended(char c) {
  state_ = open_.empty() ? State::kEnd : State::kEndValue;
  return step(c);
}

bool JsonScanner::complete() const {
  switch (state_) {
    case State::kZero:
    case State::kDigits:
    case State::kFraction:
    case State::kExponentDigits:
      return open_.empty();
    case State::kEnd:
      return true;
    default:
      return false;
  }
}

std::size_t JsonScanner::plain(std::string_view bytes) const {
  if (state_ != State::kInString) return 0;
  std::size_t count = 0;
  while (count < bytes.size() && bytes[count] != '"' && bytes[count] != '\\' &&
         static_cast<std::uint8_t>(bytes[count]) >= 0x20) {
    ++count;
  }
  return count;
}

Result<void> JsonSplitter::feed(std::string_view bytes, std::vector<std::string>& out) {
  const auto take = [&] {
    out.push_back(std::exchange(value_, {}));
    scanner_ = JsonScanner();
  };
  while (!bytes.empty()) {
    const std::size_t plain = std::max<std::size_t>(scanner_.plain(bytes), 1);
    JsonScanner::Step step = scanner_.step(bytes.front());
    if (step == JsonScanner::Step::kEnded) {
      take();
      step = scanner_.step(bytes.front());
    }
    if (step == JsonScanner::Step::kWrong) return Error{Code::kInvalid, scanner_.error()};
    if (scanner_.begun()) {  // else it is space between values
      value_ += bytes.substr(0, plain);
      if (value_.size() > bytes_max_) {
        return Error{Code::kExhausted, text("a JSON value is larger than ", bytes_max_, " bytes")};
      }
      if (step == JsonScanner::Step::kLast) take();
    }
    bytes.remove_prefix(plain);
  }
  return {};
}

Result<void> JsonSplitter::finish(std::vector<std::string>& out) {
  if (!scanner_.begun()) return {};
  if (!scanner_.complete()) return Error{Code::kInvalid, "unexpected EOF"};
  out.push_back(std::exchange(value_, {}));
  scanner_ = JsonScanner();
  return {};
}

Result<std::string_view> first_json_value(std::string_view input) {
  JsonScanner scanner;
  for (std::size_t i = 0; i < input.size(); ++i) {
    i += scanner.plain(input.substr(i));
    if (i == input.size()) break;
    switch (scanner.step(input[i])) {
      case JsonScanner::Step::kMore:
        break;
      case JsonScanner::Step::kLast:
        return input.substr(0, i + 1);
      case JsonScanner::Step::kEnded:
        return input.substr(0, i);
      case JsonScanner::Step::kWrong:
        return Error{Code::kInvalid, scanner.error()};
    }
  }
  if (!scanner.begun()) return std::string_view("null");
  if (!scanner.complete()) return Error{Code::kInvalid, "unexpected EOF"};
  return input;
}

Result<void> check_json(std::string_view input) {
  JsonScanner scanner;
  for (const char c : input) {
    if (scanner.step(c) == JsonScanner::Step::kWrong) return Error{Code::kInvalid, scanner.error()};
  }
  if (scanner.complete()) return {};
  return Error{Code::kInvalid, "unexpected end of JSON input"};
}

}  // namespace edl::store
