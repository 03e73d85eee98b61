// Where a socket listens: "10.0.0.1:80", "[::1]:80", "host:80" or "unix:/path".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edl/base/result.h"

namespace edl::os {

struct Address {
  std::string host;  // empty for a Unix socket
  std::uint16_t port = 0;
  std::string path;  // of a Unix socket

  bool is_unix() const { return !path.empty(); }
  // True when only this machine can reach it.
  bool is_local() const;
  bool operator==(const Address&) const = default;
  auto operator<=>(const Address&) const = default;
};

Result<Address> parse_address(std::string_view text);
std::string address_text(const Address& address);
void append_text(std::string& out, const Address& address);

}  // namespace edl::os
