// Finds where a JSON value ends, byte by byte, so that values can be taken from a stream before
// they are parsed. What is wrong is told in the words of Go's encoding/json, which etcd speaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edl/base/result.h"

namespace edl::store {

class JsonScanner {
 public:
  enum class Step {
    kMore,   // the value goes on, or has not begun
    kLast,   // it ends with this byte
    kEnded,  // it ended before this byte, which is not part of it
    kWrong,
  };

  explicit JsonScanner(std::size_t depth_max = 10'000) : depth_max_(depth_max) {}

  Step step(char c);
  // How many of these bytes lie inside a string and change nothing.
  std::size_t plain(std::string_view bytes) const;
  // Whether the value is complete if nothing follows (a number is, an object is only then).
  bool complete() const;
  bool begun() const { return state_ != State::kBeginValue || !open_.empty(); }
  const std::string& error() const { return error_; }

 private:
  enum class State {
    kBeginValue,
    kBeginValueOrEnd,  // after '['
    kBeginKeyOrEnd,    // after '{'
    kBeginKey,         // after ',' in an object
    kEndValue,
    kInString,
    kInEscape,
    kInUnicode,
    kMinus,
    kZero,
    kDigits,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
    kInLiteral,
    kEnd,
  };
  enum class Open { kKey, kValue, kArray };

  Step begin_value(char c);
  Step begin_key(char c, bool may_end);
  Step end_value(char c);
  Step in_string(char c);
  Step in_number(char c);
  Step in_literal(char c);
  Step close();
  Step number_ended(char c);
  Step wrong(char c, std::string_view where);

  std::size_t depth_max_;
  State state_ = State::kBeginValue;
  std::vector<Open> open_;
  int hex_left_ = 0;
  std::string_view literal_{};
  std::size_t literal_at_ = 0;
  std::string error_;
};

// Collects a stream of values. Bounded: a value above `bytes_max` is an error.
class JsonSplitter {
 public:
  explicit JsonSplitter(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Adds bytes, and to `out` the values that are complete now.
  Result<void> feed(std::string_view bytes, std::vector<std::string>& out);
  // Nothing follows: the rest, when it is a value.
  Result<void> finish(std::vector<std::string>& out);

 private:
  const std::size_t bytes_max_;
  JsonScanner scanner_;
  std::string value_;
};

// The first value in `text`; what follows it is ignored. Nothing but space is "null".
Result<std::string_view> first_json_value(std::string_view text);
// Whether `text` is one JSON value and nothing else but space.
Result<void> check_json(std::string_view text);

}  // namespace edl::store
