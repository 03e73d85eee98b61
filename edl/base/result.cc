#include "edl/base/result.h"

namespace edl {

const char* code_name(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kNotFound:
      return "not_found";
    case Code::kConflict:
      return "conflict";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kTimeout:
      return "timeout";
    case Code::kViewChanged:
      return "view_changed";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kExhausted:
      return "exhausted";
  }
  return "unknown";
}

}  // namespace edl
