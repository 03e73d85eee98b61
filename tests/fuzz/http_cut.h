// A message read twice: at once, and cut as the input says. Both readings must agree.
#pragma once

#include "edl/base/check.h"
#include "edl/http/parser.h"
#include "tests/fuzz/input.h"

namespace edl::tests {

struct Reading {
  bool whole = false;
  bool head_done = false;
  std::string head{};
  std::string body{};
  std::size_t used = 0;

  bool operator==(const Reading&) const = default;
};

inline std::string head_text(const http::Request& head) { return head.method + ' ' + head.target; }
inline std::string head_text(const http::Response& head) { return std::to_string(head.status); }

// Bytes come by `sizes`, over and over; 0 stands for all that is left.
template <class Parser>
Reading read_message(ConstBytes bytes, ConstBytes sizes, const http::ParserOptions& options) {
  Parser parser(options);
  Reading out;
  std::size_t came = 0;
  for (std::size_t i = 0; came < bytes.size() && !parser.done(); ++i) {
    const auto size = sizes.empty() ? 0 : std::to_integer<std::size_t>(sizes[i % sizes.size()]);
    came = size == 0 ? bytes.size() : std::min(bytes.size(), came + size);
    while (!parser.done()) {
      const auto used = parser.feed(bytes.subspan(out.used, came - out.used));
      if (!used.ok()) return {};
      EDL_CHECK(*used <= came - out.used);
      out.used += *used;
      if (parser.head_done() && !out.head_done) {
        out.head_done = true;
        const auto head = parser.take_head();
        out.head = head_text(head);
        for (const http::Header& header : head.headers) {
          out.head += '\n' + header.name + ':' + header.value;
        }
      }
      if (out.head_done) out.body += parser.take_body();
      if (*used == 0) break;
    }
  }
  if (!parser.feed_end().ok()) return {};
  out.whole = parser.done();
  return out;
}

template <class Parser>
void check_cutting(FuzzInput& input, bool without_body) {
  const http::ParserOptions options{.header_bytes_max = 64u + input.number(),
                                    .without_body = without_body};
  const ConstBytes sizes = input.piece(input.number() % 8);
  const ConstBytes bytes = input.rest();
  const Reading at_once = read_message<Parser>(bytes, {}, options);
  EDL_CHECK(at_once == read_message<Parser>(bytes, sizes, options));
  const std::byte one[] = {std::byte{1}};
  EDL_CHECK(at_once == read_message<Parser>(bytes, one, options));
}

}  // namespace edl::tests
