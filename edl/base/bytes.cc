#include "edl/base/bytes.h"

#include <array>

namespace edl {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::uint32_t crc_by_table(ConstBytes bytes, std::uint32_t crc) {
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 255];
  }
  return crc;
}

#if defined(__x86_64__)
bool crc_in_hardware() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

__attribute__((target("sse4.2"))) std::uint32_t crc_by_hardware(ConstBytes bytes,
                                                                std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; bytes.size() >= sizeof wide; bytes = bytes.subspan(sizeof wide)) {
    wide = __builtin_ia32_crc32di(wide, load_int<std::uint64_t>(bytes.data()));
  }
  crc = static_cast<std::uint32_t>(wide);
  for (const std::byte byte : bytes) {
    crc = __builtin_ia32_crc32qi(crc, std::to_integer<unsigned char>(byte));
  }
  return crc;
}
#else
bool crc_in_hardware() { return false; }
std::uint32_t crc_by_hardware(ConstBytes bytes, std::uint32_t crc) {
  return crc_by_table(bytes, crc);
}
#endif

}  // namespace

std::string hex(ConstBytes bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    out += kDigits[std::to_integer<unsigned>(byte) >> 4];
    out += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

Result<Bytes> parse_hex(std::string_view text) {
  Bytes out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = nibble(text[i]);
    const int low = nibble(text[i + 1]);
    if (high < 0 || low < 0) break;
    out.push_back(static_cast<std::byte>(high << 4 | low));
  }
  if (out.size() * 2 != text.size()) {
    return Error{Code::kInvalid, "expected pairs of lower-case hexadecimal digits"};
  }
  return out;
}

bool equal_in_constant_time(ConstBytes a, ConstBytes b) {
  if (a.size() != b.size()) return false;
  std::byte difference{0};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

std::uint32_t crc32c(ConstBytes bytes, std::uint32_t crc) {
  return ~(crc_in_hardware() ? crc_by_hardware(bytes, ~crc) : crc_by_table(bytes, ~crc));
}

}  // namespace edl
