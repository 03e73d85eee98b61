// Base64 with padding, as JSON carries bytes.
#pragma once

#include <string>
#include <string_view>

#include "edl/base/result.h"

namespace edl {

std::string base64(std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);
// Line breaks within it are skipped. The error names the first byte that is wrong.
Result<std::string> parse_base64(std::string_view text);

}  // namespace edl
