#include "edl/collective/elements.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace edl::collective {
namespace {

struct Kind {
  std::string_view name;
  std::size_t bytes;
};
// In the order of Element.
constexpr std::array<Kind, 5> kKinds{{{"F32", 4}, {"F64", 8}, {"I64", 8}, {"BF16", 2}, {"F16", 2}}};

// Several at a time, in registers: any alignment will do, and `sum` may be one of the operands.
constexpr std::size_t kVectorBytes = 32;
// Memory comes in lines. What is added comes from far: so much before it is needed it is asked for.
// What is written is mostly one of them, and is left to the machine otherwise.
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kAheadBytes = 2048;

// Returns how far it came.
template <class T>
[[gnu::always_inline]] inline std::size_t add_vectors(const std::byte* a, const std::byte* b,
                                                      ByteSpan sum) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  std::byte* const out = sum.data();
  std::size_t at = 0;
  while (at + kLineBytes <= sum.size()) {
    __builtin_prefetch(a + at + kAheadBytes);
    __builtin_prefetch(b + at + kAheadBytes);
    for (const std::size_t end = at + kLineBytes; at < end; at += kVectorBytes) {
      Vector some;
      Vector others;
      std::memcpy(&some, a + at, kVectorBytes);
      std::memcpy(&others, b + at, kVectorBytes);
      some = some + others;
      std::memcpy(out + at, &some, kVectorBytes);
    }
  }
  return at;
}

// The numbers of addends are known to the compiler, so that there is no loop over them. Returns how
// far it came.
template <class T, bool kHasOther, std::size_t kSums>
[[gnu::always_inline]] inline std::size_t fold_vectors(const Addends& addends, ByteSpan into) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  const std::byte* const* const sums = addends.sums.data();
  const T one_share = static_cast<T>(addends.one.share);
  const T other_share = static_cast<T>(addends.other.share);
  std::size_t at = 0;
  while (at + kLineBytes <= into.size()) {
    __builtin_prefetch(addends.one.numbers + at + kAheadBytes);
    if constexpr (kHasOther) __builtin_prefetch(addends.other.numbers + at + kAheadBytes);
    for (std::size_t i = 0; i < kSums; ++i) __builtin_prefetch(sums[i] + at + kAheadBytes);
    for (const std::size_t end = at + kLineBytes; at < end; at += kVectorBytes) {
      Vector sum;
      std::memcpy(&sum, addends.one.numbers + at, kVectorBytes);
      sum = sum * one_share;
      if constexpr (kHasOther) {
        Vector other;
        std::memcpy(&other, addends.other.numbers + at, kVectorBytes);
        other = other * other_share;
        sum = sum + other;
      }
      for (std::size_t i = 0; i < kSums; ++i) {
        Vector some;
        std::memcpy(&some, sums[i] + at, kVectorBytes);
        sum = sum + some;
      }
      std::memcpy(into.data() + at, &sum, kVectorBytes);
    }
  }
  return at;
}

template <class T, bool kHasOther>
[[gnu::always_inline]] inline std::size_t fold_vectors(const Addends& addends, ByteSpan into) {
  switch (addends.sums.size()) {
    case 0:
      return fold_vectors<T, kHasOther, 0>(addends, into);
    case 1:
      return fold_vectors<T, kHasOther, 1>(addends, into);
    case 2:
      return fold_vectors<T, kHasOther, 2>(addends, into);
    case 3:
      return fold_vectors<T, kHasOther, 3>(addends, into);
    case 4:
      return fold_vectors<T, kHasOther, 4>(addends, into);
    default:
      return 0;
  }
}

template <class T>
[[gnu::always_inline]] inline std::size_t fold_vectors(const Addends& addends, ByteSpan into) {
  const bool has_other = addends.other.numbers != nullptr;
  return has_other ? fold_vectors<T, true>(addends, into) : fold_vectors<T, false>(addends, into);
}

// Wider registers change no bit: each number is multiplied and added as before.
#ifdef __x86_64__
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }

template <class T>
[[gnu::target("avx2")]] std::size_t add_vectors_avx2(const std::byte* a, const std::byte* b,
                                                     ByteSpan sum) {
  return add_vectors<T>(a, b, sum);
}

template <class T>
[[gnu::target("avx2")]] std::size_t fold_vectors_avx2(const Addends& addends, ByteSpan into) {
  return fold_vectors<T>(addends, into);
}
#else
bool has_avx2() { return false; }

template <class T>
std::size_t add_vectors_avx2(const std::byte* a, const std::byte* b, ByteSpan sum) {
  return add_vectors<T>(a, b, sum);
}

template <class T>
std::size_t fold_vectors_avx2(const Addends& addends, ByteSpan into) {
  return fold_vectors<T>(addends, into);
}
#endif

template <class T>
void add_all(ConstBytes left, ConstBytes right, ByteSpan sum) {
  EDL_CHECK(left.size() == right.size() && left.size() == sum.size() &&
            left.size() % sizeof(T) == 0);
  const std::byte* const a = left.data();
  const std::byte* const b = right.data();
  std::size_t at = has_avx2() ? add_vectors_avx2<T>(a, b, sum) : add_vectors<T>(a, b, sum);
  for (; at < left.size(); at += sizeof(T)) {
    store_int<T>(sum.data() + at, load_int<T>(a + at) + load_int<T>(b + at));
  }
}

template <class T>
void fold_all(const Addends& addends, ByteSpan into) {
  EDL_CHECK(into.size() % sizeof(T) == 0);
  const auto product = [](const Scaled& scaled, std::size_t at) {
    return load_int<T>(scaled.numbers + at) * static_cast<T>(scaled.share);
  };
  std::size_t at =
      has_avx2() ? fold_vectors_avx2<T>(addends, into) : fold_vectors<T>(addends, into);
  for (; at < into.size(); at += sizeof(T)) {
    T sum = product(addends.one, at);
    if (addends.other.numbers != nullptr) sum += product(addends.other, at);
    for (const std::byte* const other : addends.sums) sum += load_int<T>(other + at);
    store_int<T>(into.data() + at, sum);
  }
}

// So many at a time, by way of memory of our own: compilers then know how long the loop is.
constexpr std::size_t kTogether = 64;

template <class From, class To, class Convert>
void convert_all(ConstBytes from, ByteSpan to, Convert convert) {
  EDL_CHECK(from.size() % sizeof(From) == 0 &&
            from.size() / sizeof(From) * sizeof(To) == to.size());
  const std::size_t count = from.size() / sizeof(From);
  std::size_t at = 0;
  for (; at + kTogether <= count; at += kTogether) {
    std::array<From, kTogether> some{};
    std::array<To, kTogether> made{};
    std::memcpy(some.data(), from.data() + at * sizeof(From), sizeof some);
    for (std::size_t i = 0; i < kTogether; ++i) made[i] = convert(some[i]);
    std::memcpy(to.data() + at * sizeof(To), made.data(), sizeof made);
  }
  for (; at < count; ++at) {
    store_int<To>(to.data() + at * sizeof(To),
                  convert(load_int<From>(from.data() + at * sizeof(From))));
  }
}

constexpr std::uint32_t kSign = 0x8000'0000;

// In lanes that a vector unit can take, added at the end in order.
template <class Stored, class Value>
double sum_of_squares(ConstBytes numbers, Value value_of) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::array<Stored, kLanes> stored{};
  const auto take = [&](std::size_t lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto value = static_cast<double>(value_of(stored[lane]));
      sums[lane] += value * value;
    }
  };
  for (; numbers.size() >= sizeof stored; numbers = numbers.subspan(sizeof stored)) {
    std::memcpy(stored.data(), numbers.data(), sizeof stored);
    take(kLanes);
  }
  if (!numbers.empty()) std::memcpy(stored.data(), numbers.data(), numbers.size());
  take(numbers.size() / sizeof(Stored));
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

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
      return add_all<float>(left, right, sum);
    case Element::kF64:
      return add_all<double>(left, right, sum);
    case Element::kI64:
      return add_all<std::uint64_t>(left, right, sum);
    default:
      EDL_CHECK(false, "sums of small numbers are made in float32");
  }
}

void fold(Element element, const Addends& addends, ByteSpan into) {
  switch (element) {
    case Element::kF32:
      return fold_all<float>(addends, into);
    case Element::kF64:
      return fold_all<double>(addends, into);
    case Element::kI64:
      EDL_CHECK(addends.one.share == 1 && addends.other.share == 1);
      return fold_all<std::uint64_t>(addends, into);
    default:
      EDL_CHECK(false, "sums of small numbers are made in float32");
  }
}

void widen(Element element, ConstBytes from, ByteSpan to) {
  EDL_CHECK(sum_element(element) != element);
  const bool is_f16 = element == Element::kF16;
  if (is_f16) return convert_all<std::uint16_t, float>(from, to, f16_value);
  convert_all<std::uint16_t, float>(from, to, [](std::uint16_t bits) { return bf16_value(bits); });
}

void narrow(Element element, ConstBytes from, ByteSpan to) {
  EDL_CHECK(sum_element(element) != element);
  const bool is_f16 = element == Element::kF16;
  if (is_f16) return convert_all<float, std::uint16_t>(from, to, f16_bits);
  convert_all<float, std::uint16_t>(from, to, [](float value) { return bf16_bits(value); });
}

double squared_norm(Element element, ConstBytes numbers) {
  switch (element) {
    case Element::kF32:
      return sum_of_squares<float>(numbers, [](float value) { return value; });
    case Element::kF64:
      return sum_of_squares<double>(numbers, [](double value) { return value; });
    case Element::kBf16:
      return sum_of_squares<std::uint16_t>(numbers, bf16_value);
    case Element::kF16:
      return sum_of_squares<std::uint16_t>(numbers, f16_value);
    case Element::kI64:
      break;
  }
  EDL_CHECK(false, "integers are no gradient");
  return 0;
}

float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const std::uint32_t nan = bits >> 16 | 0x40;  // stays one
  return static_cast<std::uint16_t>((bits & ~kSign) > 0x7f80'0000 ? nan : rounded);
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
