// Sums and roundings of the numbers that members add: each element by itself, in IEEE arithmetic,
// so the same bits come out whatever the length, the alignment or the vector unit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "edl/base/bytes.h"

namespace edl::collective {

// What tensors hold. Sums of the two small ones are made in float32 and rounded once, at the end.
enum class Element { kF32, kF64, kI64, kBf16, kF16 };

std::size_t element_bytes(Element element);
std::string_view element_name(Element element);
// What partial sums of it are kept in.
Element sum_element(Element element);

// sum = left + right, of `element` that is its own sum_element. `sum` may be either of them; the
// three have equal lengths. Integers wrap around.
void add(Element element, ConstBytes left, ConstBytes right, ByteSpan sum);

// Numbers to be multiplied by `share`. A share of 1 changes nothing; integers have it.
struct Scaled {
  const std::byte* numbers = nullptr;
  float share = 1;
};
// into = one + other + sums[0] + sums[1] + ..., each product and each sum rounded before the next
// is added. `other` may be missing. `into` may be one of them; all are as long as it is.
struct Addends {
  Scaled one{};
  Scaled other{};
  std::span<const std::byte* const> sums{};
};
void fold(Element element, const Addends& addends, ByteSpan into);

// To the partial sums' type, and back, rounding to the nearest and ties to even.
void widen(Element element, ConstBytes from, ByteSpan to);
void narrow(Element element, ConstBytes from, ByteSpan to);

// Of floating numbers as a vector: the sum of their squares, in float64 and in a fixed order.
double squared_norm(Element element, ConstBytes numbers);

float f16_value(std::uint16_t bits);
std::uint16_t f16_bits(float value);
float bf16_value(std::uint16_t bits);
std::uint16_t bf16_bits(float value);

}  // namespace edl::collective
