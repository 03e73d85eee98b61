// EDL_CHECK(condition[, message]): aborts when we are wrong, in release builds too.
#pragma once

#include <string_view>

namespace edl {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view message = {});

#define EDL_CHECK(condition, ...)                                                     \
  do {                                                                                \
    if (!(condition)) [[unlikely]]                                                    \
      ::edl::check_failed(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

}  // namespace edl
