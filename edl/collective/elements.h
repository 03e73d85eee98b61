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

// into = share x numbers + others[0] + others[1] + ..., each rounded before the next is added.
// `into` may be one of the others, all have equal lengths. A share of 1 changes nothing; integers
// have it.
void fold(Element element, ConstBytes numbers, float share,
          std::span<const std::byte* const> others, ByteSpan into);

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
