// etcd's gRPC calls as HTTP and JSON: which path means what, and how answers and refusals look.
// Plain functions, no I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "edl/http/message.h"
#include "edl/store/core.h"

namespace edl::store {

enum class Route { kUnary, kKeepAlive, kWatch, kStatus, kHealth, kVersion };

// What a request asks for; an answer when that can be given at once (no such path or method).
std::variant<Route, http::Response> route(const http::Request& request);

// The request of a path with Route::kUnary.
Result<UnaryRequest> read_unary(std::string_view path, std::string_view body);

http::Response json_response(std::string body);
http::Response response(const UnaryResponse& answer);
http::Response refusal_response(const Refusal& refusal);
// A message of a stream that was larger than gRPC allows.
http::Response stream_refusal_response(const Refusal& refusal);
// One message of a streamed answer.
std::string stream_line(std::string_view message);
inline http::Headers json_headers() { return {{"Content-Type", "application/json"}}; }

// Whether it would change something.
bool changes(const UnaryRequest& request);

}  // namespace edl::store
