#include "edl/http/parser.h"

#include <gtest/gtest.h>

#include "edl/http/client.h"
#include "edl/http/encode.h"

namespace edl::http {
namespace {

// All bytes at once; the status that refuses them, 0 when they are one whole request.
int verdict(std::string_view bytes) {
  RequestParser parser({.header_bytes_max = 200});
  ConstBytes left = bytes_of(bytes);
  while (!left.empty()) {
    const auto used = parser.feed(left);
    if (!used.ok()) return parser.refusal();
    if (*used == 0 || parser.done()) break;
    left = left.subspan(*used);
  }
  return parser.done() ? 0 : -1;
}

TEST(HttpParser, refuses_what_could_be_read_in_two_ways) {
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\n\r\n"), 0);
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400);
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(verdict("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(verdict("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"), 400);
}

TEST(HttpParser, refuses_what_is_not_http) {
  EXPECT_EQ(verdict("hello\n"), 400);
  EXPECT_EQ(verdict("\x16\x03\x01"), 400);
  EXPECT_EQ(verdict("GET / HTTP/2.0\r\n\r\n"), 400);
  EXPECT_EQ(verdict("GET / HTTP/1.1\nHost: x\n\n"), 400);
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\nbad header\r\n\r\n"), 400);
  EXPECT_EQ(verdict("GET /" + std::string(200, 'x')), 431);
  EXPECT_EQ(verdict("GET / HTTP/1.1\r\nX: " + std::string(200, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(verdict("GET / HT"), -1);
}

TEST(HttpParser, takes_no_memory_for_bytes_that_were_only_promised) {
  ResponseParser parser({});
  const auto bytes = bytes_of("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\na");
  const std::size_t head = parser.feed(bytes).value();
  EXPECT_EQ(parser.feed(bytes.subspan(head)).value(), 1u);
  EXPECT_EQ(parser.take_body(), "a");
}

TEST(HttpEncode, refuses_headers_that_would_become_others) {
  const Framing framing{};
  EXPECT_FALSE(encode_head(Response{200, {{"A", "b\r\nC: d"}}, {}}, framing).ok());
  EXPECT_FALSE(encode_head(Response{200, {{"A b", "c"}}, {}}, framing).ok());
  EXPECT_FALSE(encode_head(Request{"GET", "/a b", {}, {}}, "host", framing).ok());
  EXPECT_FALSE(encode_head(Request{"GET /", "/", {}, {}}, "host", framing).ok());
  EXPECT_EQ(encode_head(Response{200, {{"A", "b"}, {"content-length", "9"}}, {}},
                        {.body_bytes = 3, .connection = "close"})
                .value(),
            "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
}

TEST(HttpUrl, reads_back_what_it_writes) {
  for (const char* good : {"http://a:1", "https://[::1]:443", "unix:/run/x"}) {
    const auto url = parse_url(good);
    ASSERT_TRUE(url.ok()) << url.error().message;
    EXPECT_EQ(url_text(*url), good);
  }
  for (const char* wrong : {"", "a:1", "ftp://a:1", "http://a", "http://unix:/x", "http://a:1/b"}) {
    EXPECT_FALSE(parse_url(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace edl::http
