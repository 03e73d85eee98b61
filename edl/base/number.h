// Number<Tag>: an integer that does not mix with other integers. Ranks, steps and generations are
// different types, so that one cannot be passed for another.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace edl {

template <class Tag, class Int = std::uint64_t>
class Number {
 public:
  using Value = Int;

  constexpr Number() = default;
  constexpr explicit Number(Int value) : value_(value) {}

  constexpr Int value() const { return value_; }
  constexpr Number next() const { return Number(value_ + 1); }
  constexpr auto operator<=>(const Number&) const = default;

 private:
  Int value_ = 0;
};

template <class Tag, class Int>
void append_text(std::string& out, Number<Tag, Int> number) {
  out += std::to_string(number.value());
}

}  // namespace edl
