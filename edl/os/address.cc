#include "edl/os/address.h"

#include <charconv>

#include "edl/base/text.h"

namespace edl::os {
namespace {

constexpr std::size_t kUnixPathMax = 107;  // sun_path less its closing zero
constexpr std::size_t kHostMax = 253;
constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

// Brackets are for IPv6 numbers, which alone have colons; their letters may name a zone after '%'.
bool is_host(std::string_view host, bool bracketed) {
  for (const char letter : host) {
    const bool special = bracketed && (letter == ':' || letter == '%');
    if (!special && kNameLetters.find(letter) == std::string_view::npos) return false;
  }
  return bracketed == (host.find(':') != std::string_view::npos);
}

}  // namespace

bool Address::is_local() const {
  return is_unix() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<Address> parse_address(std::string_view input) {
  const auto wrong = [&](std::string_view why) {
    return Error{Code::kInvalid, text("\"", input, "\" is not an address (", why,
                                      "): write HOST:PORT or unix:PATH")};
  };
  Address address;
  if (input.starts_with("unix:")) {
    address.path = input.substr(5);
    if (address.path.empty()) return wrong("the path is empty");
    if (address.path.size() > kUnixPathMax) return wrong("the path is longer than 107 characters");
    return address;
  }
  const std::size_t colon = input.rfind(':');
  if (colon == std::string_view::npos) return wrong("there is no port");
  std::string_view host = input.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return wrong("there is no host");
  if (host.size() > kHostMax) return wrong("the host is longer than 253 characters");
  if (!is_host(host, bracketed)) return wrong("the host is not a name, an IP number or [IPV6]");
  address.host = host;
  const std::string_view port = input.substr(colon + 1);
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (failed != std::errc() || end != port.data() + port.size()) {
    return wrong("the port is not a number from 0 to 65535");
  }
  return address;
}

std::string address_text(const Address& address) {
  if (address.is_unix()) return text("unix:", address.path);
  const bool v6 = address.host.find(':') != std::string::npos;
  return text(v6 ? "[" : "", address.host, v6 ? "]:" : ":", address.port);
}

void append_text(std::string& out, const Address& address) { out += address_text(address); }

}  // namespace edl::os
