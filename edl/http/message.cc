#include "edl/http/message.h"

#include <algorithm>

namespace edl::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (same_name(header.name, name)) return header.value;
  }
  return {};
}

}  // namespace edl::http
