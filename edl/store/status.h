// What a refusal of the store means to us.
#pragma once

#include "edl/base/result.h"
#include "edl/http/message.h"

namespace edl::store {

// Of a gRPC status, in the store's words.
Error status_error(std::int64_t grpc_code, const std::string& message);
// Of an answer that is not 200.
Error refusal_error(const http::Response& answer);

}  // namespace edl::store
