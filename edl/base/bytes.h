// Bytes and how numbers lie in them: little-endian, at any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/result.h"

namespace edl {

static_assert(std::endian::native == std::endian::little, "EDL's formats are little-endian");

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

inline ConstBytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string_view text_of(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes copy_bytes(ConstBytes bytes) { return {bytes.begin(), bytes.end()}; }

template <class Int>
void store_int(std::byte* at, Int value) {
  std::memcpy(at, &value, sizeof value);
}
template <class Int>
Int load_int(const std::byte* at) {
  Int value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string hex(ConstBytes bytes);
Result<Bytes> parse_hex(std::string_view text);

// Compares without telling by its duration where the difference is.
bool equal_in_constant_time(ConstBytes a, ConstBytes b);

// CRC-32C (Castagnoli), continuing from `crc`.
std::uint32_t crc32c(ConstBytes bytes, std::uint32_t crc = 0);

}  // namespace edl
