// text(a, b, ...): its arguments as one string. Types join in by an `append_text(std::string&, T)`.
#pragma once

#include <chrono>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edl {

inline void append_text(std::string& out, std::string_view value) { out += value; }
inline void append_text(std::string& out, const char* value) { out += value; }
inline void append_text(std::string& out, char value) { out += value; }
inline void append_text(std::string& out, bool value) { out += value ? "true" : "false"; }
void append_text(std::string& out, double value);
void append_text(std::string& out, std::chrono::nanoseconds value);  // in time.cc
template <std::integral Int>
void append_text(std::string& out, Int value) {
  out += std::to_string(value);
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// "a, b and c".
std::string list_text(std::span<const std::string> items);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

// The candidate that a person most likely meant by `word`; empty when none is close.
std::string closest(std::string_view word, std::span<const std::string> candidates);

}  // namespace edl
