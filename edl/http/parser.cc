#include "edl/http/parser.h"

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>

#include "edl/base/text.h"

namespace edl::http {
namespace {

namespace beast = boost::beast::http;
using BeastCode = boost::system::error_code;

// Beast keeps the length of a header in 16 bits and throws above that.
constexpr std::size_t kHeaderBytesMax = 60'000;
constexpr std::string_view kHeadEnd = "\r\n\r\n";
// The least that stands before the end of a chunked body. Beast's parser asserts, when it is called
// again after it asked for more, that it sees this much.
constexpr std::size_t kLastChunkBytes = 5;

// Beast's own string_body takes memory for the length that the peer tells; this one takes it for
// what has come.
struct GrowingBody {
  using value_type = std::string;
  class reader {  // NOLINT(readability-identifier-naming): as Beast wants it
   public:
    template <bool kRequest, class Fields>
    reader(const beast::header<kRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, BeastCode& failed) { failed = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, BeastCode& failed) {
      failed = {};
      const std::size_t before = body_.size();
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      return body_.size() - before;
    }
    void finish(BeastCode& failed) { failed = {}; }

   private:
    value_type& body_;
  };
};

std::string copy(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string not_text(char first) {
  constexpr char kTlsAlert = 0x15;
  constexpr char kTlsHello = 0x16;
  if (first == kTlsAlert || first == kTlsHello) {
    return "not HTTP but TLS: one end uses https, the other one http";
  }
  return "not HTTP: a header is lines of text that end with CR LF";
}

}  // namespace

template <bool kRequest>
struct Parser<kRequest>::State {
  beast::parser<kRequest, GrowingBody> parser;
};

template <bool kRequest>
Parser<kRequest>::Parser(const ParserOptions& options)
    : state_(std::make_unique<State>()),
      header_bytes_max_(std::min(options.header_bytes_max, kHeaderBytesMax)) {
  state_->parser.header_limit(kHeaderBytesMax + 1);
  state_->parser.body_limit(boost::none);  // the caller knows which limit is to be kept
  if constexpr (!kRequest) state_->parser.skip(options.without_body);
}

template <bool kRequest>
Parser<kRequest>::~Parser() = default;

template <bool kRequest>
Error Parser<kRequest>::refuse(int status, const std::string& why) {
  refusal_ = status;
  return {status == 431 ? Code::kExhausted : Code::kCorrupt, why};
}

template <bool kRequest>
Result<std::size_t> Parser<kRequest>::feed(ConstBytes bytes) {
  return head_done() ? feed_body(bytes) : feed_head(bytes);
}

// Beast would take a head line by line, and keep its limit for each line. It gets the whole head.
template <bool kRequest>
Result<std::size_t> Parser<kRequest>::feed_head(ConstBytes bytes) {
  const std::string_view head = text_of(bytes.first(std::min(bytes.size(), header_bytes_max_)));
  while (scanned_ < head.size() && !head.substr(0, scanned_).ends_with(kHeadEnd)) {
    const char c = head[scanned_];
    const bool lonely = c == '\n' && (scanned_ == 0 || head[scanned_ - 1] != '\r');
    if (lonely || (c >= 0 && c < ' ' && c != '\t' && c != '\r' && c != '\n')) {
      return refuse(400, not_text(head[0]));
    }
    ++scanned_;
  }
  if (!head.substr(0, scanned_).ends_with(kHeadEnd)) {
    if (head.size() < header_bytes_max_) return std::size_t{0};
    return refuse(431, text("the header is longer than ", header_bytes_max_, " bytes"));
  }
  BeastCode failed;
  const std::size_t used = state_->parser.put({bytes.data(), scanned_}, failed);
  if (failed) return refuse(400, text("not HTTP/1.1: ", failed.message()));
  if (used != scanned_) return refuse(400, "not HTTP/1.1: an empty line within the header");
  EDL_TRY(check_head());
  return used;
}

template <bool kRequest>
Result<std::size_t> Parser<kRequest>::feed_body(ConstBytes bytes) {
  auto& parser = state_->parser;
  std::size_t used = 0;
  while (used < bytes.size() && !parser.is_done()) {
    std::size_t size = bytes.size() - used;
    if (parser.chunked()) size = std::min(size, header_bytes_max_);
    if (wants_more_ && size < kLastChunkBytes) break;
    BeastCode failed;
    used += parser.put({bytes.data() + used, size}, failed);
    wants_more_ = failed == beast::error::need_more;
    if (wants_more_ && size < header_bytes_max_) break;
    if (wants_more_) return refuse(400, "the line of a chunk, or what ends a body, is too long");
    if (failed) return refuse(400, text("not HTTP/1.1: ", failed.message()));
  }
  return used;
}

// What Beast lets pass, but two programs could understand in two ways.
template <bool kRequest>
Result<void> Parser<kRequest>::check_head() {
  auto& parser = state_->parser;
  keep_alive_ = parser.keep_alive();
  const auto [first, last] = parser.get().equal_range(beast::field::transfer_encoding);
  for (auto field = first; field != last; ++field) {
    if (!same_name(copy(field->value()), "chunked")) {
      return refuse(501, text("transfer encoding ", copy(field->value()), " is not supported"));
    }
    if (is_http_1_0()) return refuse(400, "HTTP/1.0 has no transfer encodings");
  }
  return {};
}

template <bool kRequest>
Result<void> Parser<kRequest>::feed_end() {
  if (done()) return {};
  BeastCode failed = beast::error::partial_message;
  if (state_->parser.got_some()) state_->parser.put_eof(failed);
  if (failed) return Error{Code::kCorrupt, "the connection ended within a message"};
  return {};
}

template <bool kRequest>
bool Parser<kRequest>::head_done() const {
  return state_->parser.is_header_done();
}

template <bool kRequest>
bool Parser<kRequest>::done() const {
  return state_->parser.is_done();
}

template <bool kRequest>
auto Parser<kRequest>::take_head() -> Head {
  const auto& message = state_->parser.get();
  Head head;
  if constexpr (kRequest) {
    head.method = copy(message.method_string());
    head.target = copy(message.target());
  } else {
    head.status = static_cast<int>(message.result_int());
  }
  for (const auto& field : message) {
    head.headers.push_back({copy(field.name_string()), copy(field.value())});
  }
  return head;
}

template <bool kRequest>
std::string Parser<kRequest>::take_body() {
  return std::exchange(state_->parser.get().body(), {});
}

template <bool kRequest>
std::size_t Parser<kRequest>::body_bytes() const {
  return state_->parser.get().body().size();
}

template <bool kRequest>
std::optional<std::uint64_t> Parser<kRequest>::content_length() const {
  const auto length = state_->parser.content_length();
  if (!length) return std::nullopt;
  return *length;
}

template <bool kRequest>
bool Parser<kRequest>::is_http_1_0() const {
  return state_->parser.get().version() < 11;
}

template class Parser<true>;
template class Parser<false>;

}  // namespace edl::http
