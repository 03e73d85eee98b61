#include "edl/store/status.h"

#include "edl/base/text.h"
#include "edl/store/codec.h"
#include "edl/store/json_scanner.h"

namespace edl::store {
namespace {

Code meaning(std::int64_t grpc_code, const std::string& message) {
  constexpr std::int64_t kDeadline = 4, kNotFound = 5, kExhausted = 8, kPrecondition = 9,
                         kOutOfRange = 11, kUnavailable = 14;
  switch (grpc_code) {
    case kDeadline:
      return Code::kTimeout;
    case kNotFound:
      return Code::kNotFound;
    case kExhausted:
      return Code::kExhausted;
    case kPrecondition:
      return Code::kConflict;
    case kOutOfRange:
      return message.find("compacted") == std::string::npos ? Code::kInvalid : Code::kNotFound;
    case kUnavailable:
      return Code::kUnavailable;
    default:
      return Code::kInvalid;
  }
}

}  // namespace

Error status_error(std::int64_t grpc_code, const std::string& message) {
  return {meaning(grpc_code, message), text("the store refused: ", message)};
}

Error refusal_error(const http::Response& answer) {
  const auto json = first_json_value(answer.body);
  if (json.ok()) {
    const auto body = read_message<RefusalBody>(RawJson(*json));
    if (body.ok() && body->code != 0) return status_error(body->code, body->message);
  }
  constexpr int kServerError = 500;
  const Code code = answer.status >= kServerError ? Code::kUnavailable : Code::kInvalid;
  return {code, text("what answers there is not a store (HTTP status ", answer.status, ")")};
}

}  // namespace edl::store
