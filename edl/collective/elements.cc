#include "edl/collective/elements.h"

#include <array>
#include <bit>
#include <cmath>

namespace edl::collective {
namespace {

struct Kind {
  std::string_view name;
  std::size_t bytes;
};
// In the order of Element.
constexpr std::array<Kind, 5> kKinds{{{"F32", 4}, {"F64", 8}, {"I64", 8}, {"BF16", 2}, {"F16", 2}}};

// Through memcpy, so that any alignment will do; compilers make vector code of it.
template <class T, class Add>
void add_all(ConstBytes left, ConstBytes right, ByteSpan sum, Add plus) {
  EDL_CHECK(left.size() == right.size() && left.size() == sum.size() &&
            left.size() % sizeof(T) == 0);
  for (std::size_t at = 0; at < left.size(); at += sizeof(T)) {
    store_int(sum.data() + at, plus(load_int<T>(left.data() + at), load_int<T>(right.data() + at)));
  }
}

template <class From, class To, class Convert>
void convert_all(ConstBytes from, ByteSpan to, Convert convert) {
  EDL_CHECK(from.size() % sizeof(From) == 0 &&
            from.size() / sizeof(From) * sizeof(To) == to.size());
  for (std::size_t i = 0; i < from.size() / sizeof(From); ++i) {
    store_int<To>(to.data() + i * sizeof(To),
                  convert(load_int<From>(from.data() + i * sizeof(From))));
  }
}

constexpr std::uint32_t kSign = 0x8000'0000;

}  // namespace

std::size_t element_bytes(Element element) {
  return kKinds[static_cast<std::size_t>(element)].bytes;
}
std::string_view element_name(Element element) {
  return kKinds[static_cast<std::size_t>(element)].name;
}

Element sum_element(Element element) {
  return element == Element::kBf16 || element == Element::kF16 ? Element::kF32 : element;
}

void add(Element element, ConstBytes left, ConstBytes right, ByteSpan sum) {
  switch (element) {
    case Element::kF32:
      return add_all<float>(left, right, sum, [](float a, float b) { return a + b; });
    case Element::kF64:
      return add_all<double>(left, right, sum, [](double a, double b) { return a + b; });
    case Element::kI64:
      return add_all<std::uint64_t>(left, right, sum,
                                    [](std::uint64_t a, std::uint64_t b) { return a + b; });
    default:
      EDL_CHECK(false, "sums of small numbers are made in float32");
  }
}

void widen(Element element, ConstBytes from, ByteSpan to) {
  EDL_CHECK(sum_element(element) != element);
  const bool is_f16 = element == Element::kF16;
  convert_all<std::uint16_t, float>(from, to, is_f16 ? f16_value : bf16_value);
}

void narrow(Element element, ConstBytes from, ByteSpan to) {
  EDL_CHECK(sum_element(element) != element);
  const bool is_f16 = element == Element::kF16;
  convert_all<float, std::uint16_t>(from, to, is_f16 ? f16_bits : bf16_bits);
}

float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // stays a NaN
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float f16_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f80'0000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float tiny = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -tiny : tiny;
}

std::uint16_t f16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits & kSign) >> 16);
  const std::uint32_t size = bits & ~kSign;
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | 0x7e00 | (size >> 13 & 0x1ff));
  }
  constexpr std::uint32_t kOverflow = 0x477f'f000;  // from here on the nearest is infinity
  if (size >= kOverflow) return static_cast<std::uint16_t>(sign | 0x7c00);
  constexpr std::uint32_t kNormal = 0x3880'0000;  // 2^-14
  if (size < kNormal) {
    // The addition rounds to a multiple of 2^-24, which is what the smallest numbers are counted
    // in.
    const float counted = std::bit_cast<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(counted) & 0x7ff));
  }
  const std::uint32_t rounded = size + 0xfff + (size >> 13 & 1);
  return static_cast<std::uint16_t>(sign | (rounded - (112U << 23)) >> 13);
}

}  // namespace edl::collective
