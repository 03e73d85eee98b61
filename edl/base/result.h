// Result<T>: a value, or an Error that tells the caller what to do next and people what happened.
// For failures of the world. When we are wrong ourselves, see check.h.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "edl/base/check.h"

namespace edl {

// What the caller should do next; the list is closed.
enum class Code {
  kInvalid,      // the request makes no sense: fix it
  kNotFound,     // there is no such thing
  kConflict,     // somebody else was first: look again
  kUnavailable,  // not now: try again, perhaps elsewhere
  kTimeout,      // the deadline passed; it may or may not have happened
  kViewChanged,  // the view this belonged to is over
  kCorrupt,      // stored or received bytes are wrong: do not use them
  kExhausted,    // a limit is reached: disk, memory, queue
};

const char* code_name(Code code);

struct Error {
  Code code;
  std::string message;  // one sentence: the thing, the numbers, the way out
};

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  template <class U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::decay_t<U>, T> &&
             !std::is_same_v<std::decay_t<U>, Error> && !std::is_same_v<std::decay_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    EDL_CHECK(ok(), error().message);
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    EDL_CHECK(ok(), error().message);
    return *std::get_if<0>(&state_);
  }
  T&& value() && { return std::move(value()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    EDL_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    EDL_CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

// EDL_TRY(call());           returns the error of `call` from this function, if it has one.
// EDL_TRY(auto x, call());   the same, and names the value otherwise.
#define EDL_TRY(...) EDL_TRY_PICK(__VA_ARGS__, EDL_TRY_NAMED, EDL_TRY_PLAIN)(__VA_ARGS__)
#define EDL_TRY_PICK(a, b, name, ...) name
#define EDL_TRY_PLAIN(expression)                                                    \
  do {                                                                               \
    if (auto edl_result = (expression); !edl_result.ok()) return edl_result.error(); \
  } while (false)
#define EDL_TRY_NAMED(name, expression) EDL_TRY_LINE(name, expression, __LINE__)
#define EDL_TRY_LINE(name, expression, line) EDL_TRY_TEMP(name, expression, line)
#define EDL_TRY_TEMP(name, expression, line)                     \
  auto edl_result_##line = (expression);                         \
  if (!edl_result_##line.ok()) return edl_result_##line.error(); \
  name = std::move(edl_result_##line).value()

}  // namespace edl
