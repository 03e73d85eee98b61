// Bytes into messages, for both ends. Boost.Beast does the reading; there is no I/O here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "edl/base/bytes.h"
#include "edl/http/message.h"

namespace edl::http {

struct ParserOptions {
  std::size_t header_bytes_max = 16 << 10;  // also of a chunk's own line and of what ends a body
  bool without_body = false;                // the answer to HEAD tells a length and sends nothing
};

// One message. What comes out does not depend on how the bytes were cut.
template <bool kRequest>
class Parser {
 public:
  using Head = std::conditional_t<kRequest, Request, Response>;

  explicit Parser(const ParserOptions& options);
  ~Parser();

  // Takes bytes from the front and answers how many. The rest is to be given again, with more
  // behind it. Stops behind the head and behind the message.
  Result<std::size_t> feed(ConstBytes bytes);
  // No more bytes will come: some answers end like this, for all else it is an error.
  Result<void> feed_end();

  bool head_done() const;
  bool done() const;
  Head take_head();
  // What came of the body and was not taken yet.
  std::string take_body();
  std::size_t body_bytes() const;
  std::optional<std::uint64_t> content_length() const;
  bool keep_alive() const { return keep_alive_; }
  bool is_http_1_0() const;
  // The status that tells the sender what `feed` found wrong.
  int refusal() const { return refusal_; }

 private:
  struct State;
  Result<std::size_t> feed_head(ConstBytes bytes);
  Result<std::size_t> feed_body(ConstBytes bytes);
  Result<void> check_head();
  Error refuse(int status, const std::string& why);

  std::unique_ptr<State> state_;
  std::size_t header_bytes_max_;
  std::size_t scanned_ = 0;  // of the head
  bool wants_more_ = false;
  bool keep_alive_ = false;
  int refusal_ = 400;
};

using RequestParser = Parser<true>;
using ResponseParser = Parser<false>;

}  // namespace edl::http
