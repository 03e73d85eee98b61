#include "edl/http/encode.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/serializer.hpp>
#include <charconv>

#include "edl/base/text.h"

namespace edl::http {
namespace {

namespace beast = boost::beast::http;

constexpr std::size_t kFieldBytesMax = 60'000;  // Beast counts them in 16 bits

bool is_token(std::string_view name) {
  static constexpr std::string_view kSpecial = "!#$%&'*+-.^_`|~";
  return !name.empty() && name.size() <= kFieldBytesMax && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kSpecial.find(c) != std::string_view::npos;
  });
}

bool is_value(std::string_view value) {
  return value.size() <= kFieldBytesMax && std::ranges::all_of(value, [](char c) {
           return static_cast<unsigned char>(c) >= ' ' ? c != 127 : c == '\t';
         });
}

bool is_target(std::string_view target) {
  return !target.empty() && target.size() <= kFieldBytesMax &&
         std::ranges::all_of(target, [](char c) { return c > ' ' && c != 127; });
}

bool is_ours(std::string_view name) {
  return same_name(name, "content-length") || same_name(name, "transfer-encoding") ||
         same_name(name, "connection");
}

template <class Message>
Result<void> add_headers(Message& message, const Headers& headers, const Framing& framing) {
  for (const Header& header : headers) {
    if (!is_token(header.name) || !is_value(header.value)) {
      return Error{Code::kInvalid, text("header ", header.name.substr(0, 100),
                                        " has characters that no header may have, or too many")};
    }
    if (!is_ours(header.name)) message.insert(header.name, header.value);
  }
  if (framing.body == Framing::Body::kLength) message.content_length(framing.body_bytes);
  if (framing.body == Framing::Body::kChunks) message.chunked(true);
  if (!framing.connection.empty()) {
    message.set(beast::field::connection,
                boost::beast::string_view(framing.connection.data(), framing.connection.size()));
  }
  return {};
}

template <bool kRequest>
std::string head_text(beast::message<kRequest, beast::empty_body>& message) {
  beast::serializer<kRequest, beast::empty_body> serializer(message);
  serializer.split(true);
  std::string out;
  boost::system::error_code failed;
  serializer.next(failed, [&out](boost::system::error_code&, const auto& buffers) {
    for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
      out.append(static_cast<const char*>(buffer.data()), buffer.size());
    }
  });
  EDL_CHECK(!failed, failed.message());
  return out;
}

}  // namespace

Result<std::string> encode_head(const Request& request, std::string_view host,
                                const Framing& framing) {
  if (!is_token(request.method)) return Error{Code::kInvalid, "the method is not one word"};
  if (!is_target(request.target)) {
    return Error{Code::kInvalid, text("target ", request.target.substr(0, 100),
                                      " is empty or has characters that must be escaped")};
  }
  beast::request<beast::empty_body> message;
  message.version(11);
  message.method_string(request.method);
  message.target(request.target);
  if (find_header(request.headers, "host").empty()) {
    message.set(beast::field::host, boost::beast::string_view(host.data(), host.size()));
  }
  EDL_TRY(add_headers(message, request.headers, framing));
  return head_text(message);
}

Result<std::string> encode_head(const Response& response, const Framing& framing) {
  EDL_CHECK(response.status >= 100 && response.status <= 999);
  beast::response<beast::empty_body> message;
  message.version(11);
  message.result(static_cast<unsigned>(response.status));
  EDL_TRY(add_headers(message, response.headers, framing));
  return head_text(message);
}

std::string chunk_head(std::size_t bytes) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), bytes, 16).ptr;
  return std::string(digits.begin(), end).append("\r\n");
}

}  // namespace edl::http
