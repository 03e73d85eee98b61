#include "edl/data/download.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr Duration kPauseMax = 10s;
constexpr std::string_view kBytes = "bytes ";

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

bool is_redirect(int status) {
  static constexpr std::array<int, 5> kRedirects{301, 302, 303, 307, 308};
  return std::ranges::find(kRedirects, status) != kRedirects.end();
}

bool is_passing(int status) {
  return status == 408 || status == 425 || status == 429 || status >= 500;
}

}  // namespace

Download::Download(os::LoopSystem& system, http::Client& client, PartFile& part,
                   DownloadLimits limits)
    : system_(system), client_(client), part_(part), limits_(limits) {}

Result<void> Download::run(const Source& source) {
  Source at = source;
  int redirects = 0;
  int idle = 0;  // tries in a row that brought nothing
  while (true) {
    const std::uint64_t before = part_.bytes();
    const Outcome outcome = attempt(at);
    if (outcome.refused) return *outcome.refused;
    if (!outcome.location.empty()) {
      if (++redirects > limits_.redirects) {
        return Error{Code::kInvalid,
                     text("cannot fetch ", source.text, ": it leads elsewhere more ", "than ",
                          limits_.redirects, " times in a row")};
      }
      EDL_TRY(at, redirected(at, outcome.location));
      continue;
    }
    if (!outcome.broken) return {};
    idle = part_.bytes() > before ? 0 : idle + 1;
    if (idle >= limits_.tries || system_.now() >= limits_.deadline) {
      return Error{outcome.broken->code,
                   text("cannot fetch ", source.text, ": ", outcome.broken->message, "; ",
                        part_.bytes(), " bytes are here, another try goes on behind them")};
    }
    wait(std::min(limits_.pause * (1 << std::min(idle, 8)), kPauseMax));
    at = source;
    redirects = 0;
  }
}

Download::Outcome Download::attempt(const Source& source) {
  source_ = source;
  outcome_ = {};
  takes_pieces_ = false;
  http::Request request{.method = "GET", .target = source.target};
  request.headers = {{"Accept", "*/*"}, {"User-Agent", "edl"}};
  if (part_.bytes() > 0) request.headers.push_back({"Range", text("bytes=", part_.bytes(), "-")});
  if (source.is_signed) {
    EDL_CHECK(access_ != nullptr);
    sign(*access_, os::address_text(source.server.address), system_.wall_time(), request);
  }
  const Duration left = std::max(limits_.deadline - system_.now(), Duration(1ms));
  const auto stream =
      client_.open(source.server, std::move(request), false, std::min(limits_.silence, left),
                   {.on_head = [this](const http::Response& head) { on_head(head); },
                    .on_piece = [this](std::string_view piece) { on_piece(piece); },
                    .on_end =
                        [this](const Result<void>& end) {
                          if (!end.ok()) return break_off(end.error());
                          system_.finish(0);
                        }});
  system_.run();
  alarm_.cancel();
  return std::move(outcome_);
}

void Download::on_head(const http::Response& head) {
  watch();
  if (head.status == 200) return on_whole(head);
  if (head.status == 206) return on_rest(head);
  const std::string_view location = http::find_header(head.headers, "Location");
  if (is_redirect(head.status) && !location.empty()) {
    outcome_.location = location;
    return system_.finish(0);
  }
  const std::string answer = text(http::url_text(source_.server), " answers ", head.status);
  if (head.status == 416) restart();  // what is here is no beginning of it
  if (head.status == 416 || is_passing(head.status)) {
    return break_off({Code::kUnavailable, answer});
  }
  refuse(head.status == 404 ? Code::kNotFound : Code::kInvalid, answer);
}

void Download::on_whole(const http::Response& head) {
  if (part_.bytes() > 0) restart();
  const auto length = number_of(http::find_header(head.headers, "Content-Length"));
  takes_pieces_ = true;
  if (length) check_length(*length);
}

void Download::on_rest(const http::Response& head) {
  // "bytes 100-199/200", or "*" for a length that is not known.
  const std::string_view range = http::find_header(head.headers, "Content-Range");
  const std::size_t dash = std::min(range.find('-'), range.size());
  const std::size_t slash = std::min(range.find('/'), range.size());
  const bool is_bytes = range.starts_with(kBytes) && dash > kBytes.size();
  const auto first =
      is_bytes ? number_of(range.substr(kBytes.size(), dash - kBytes.size())) : std::nullopt;
  if (first != part_.bytes()) {
    restart();
    return break_off({Code::kUnavailable, text("it sent the bytes \"", range.substr(0, 100),
                                               "\" when others were asked for")});
  }
  takes_pieces_ = true;
  if (slash == range.size()) return;
  if (const auto length = number_of(range.substr(slash + 1))) check_length(*length);
}

void Download::check_length(std::uint64_t bytes) {
  if (limits_.bytes_known && bytes != *limits_.bytes_known) {
    return refuse(Code::kCorrupt,
                  text("it has ", bytes, " bytes, but ", *limits_.bytes_known, " are wanted"));
  }
  if (bytes > limits_.bytes_max) {
    refuse(Code::kExhausted,
           text("it has ", bytes, " bytes; there is room for ", limits_.bytes_max));
  }
}

void Download::on_piece(std::string_view piece) {
  if (!takes_pieces_ || outcome_.refused || outcome_.broken) return;  // the text of a refusal
  watch();
  if (const auto added = part_.add(bytes_of(piece)); !added.ok()) {
    return refuse(added.error().code, added.error().message);
  }
  // A server that tells no length sends until it is stopped.
  const std::uint64_t most = limits_.bytes_known.value_or(limits_.bytes_max);
  if (part_.bytes() > most) refuse(Code::kCorrupt, text("it has more than ", most, " bytes"));
}

void Download::restart() {
  if (const auto done = part_.restart(); !done.ok())
    refuse(done.error().code, done.error().message);
}

void Download::refuse(Code code, const std::string& why) {
  outcome_.refused = Error{code, text("cannot fetch ", source_.text, ": ", why)};
  system_.finish(0);
}

void Download::break_off(const Error& error) {
  outcome_.broken = error;
  system_.finish(0);
}

void Download::watch() {
  alarm_ = system_.after(limits_.silence, [this] {
    break_off({Code::kTimeout, text("no byte has come for ", limits_.silence)});
  });
}

void Download::wait(Duration pause) {
  const os::Pending alarm = system_.after(pause, [this] { system_.finish(0); });
  system_.run();
}

}  // namespace edl::data
