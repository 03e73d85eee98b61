// Messages into bytes: their heads, and what stands around the chunks of a body.
#pragma once

#include <string>
#include <string_view>

#include "edl/base/result.h"
#include "edl/http/message.h"

namespace edl::http {

// How the receiver knows where the body ends.
struct Framing {
  enum class Body { kLength, kChunks, kNone };
  Body body = Body::kLength;
  std::size_t body_bytes = 0;
  std::string_view connection{};  // the header `Connection`; empty: none is sent
};

// `Content-Length`, `Transfer-Encoding` and `Connection` follow from the framing; what the message
// says of them is not sent. Invalid when a header cannot be sent as it is.
Result<std::string> encode_head(const Request& request, std::string_view host,
                                const Framing& framing);
Result<std::string> encode_head(const Response& response, const Framing& framing);

// What stands before the bytes of a chunk; behind them stands kChunkEnd.
std::string chunk_head(std::size_t bytes);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace edl::http
