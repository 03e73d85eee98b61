#include "edl/data/source.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::size_t kTextMax = 8192;
constexpr std::string_view kFile = "file://";
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kS3 = "s3://";

bool is_plain(char letter) { return letter > ' ' && letter < '\x7F' && letter != '#'; }

Error wrong(std::string_view text_given, std::string_view why) {
  return {Code::kInvalid,
          text("\"", text_given.substr(0, 200), "\" is no address of a file: ", why)};
}

Result<Source> parse_http(std::string_view text_given) {
  if (!std::all_of(text_given.begin(), text_given.end(), is_plain)) {
    return wrong(text_given, "write what is not plain as %XX, and no #");
  }
  const bool is_tls = text_given.starts_with(kHttps);
  const std::string_view rest = text_given.substr(is_tls ? kHttps.size() : kHttp.size());
  const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  std::string host(rest.substr(0, slash));
  if (host.find('@') != std::string::npos) {
    return wrong(text_given, "names and passwords do not belong into it");
  }
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos || host.ends_with(']')) host += is_tls ? ":443" : ":80";
  Source out{.kind = Source::Kind::kHttp, .text = std::string(text_given)};
  const auto server = http::parse_url(text(is_tls ? kHttps : kHttp, host));
  if (!server.ok()) return wrong(text_given, "write http://HOST[:PORT]/PATH");
  out.server = *server;
  out.target = text(rest.substr(slash).starts_with('/') ? "" : "/", rest.substr(slash));
  return out;
}

}  // namespace

Result<Source> parse_source(std::string_view text_given) {
  if (text_given.empty() || text_given.size() > kTextMax) {
    return wrong(text_given,
                 text("it has ", text_given.size(), " letters, and may have 1 to ", kTextMax));
  }
  if (text_given.find('\0') != std::string_view::npos) return wrong(text_given, "it holds a zero");
  if (text_given.starts_with(kHttp) || text_given.starts_with(kHttps)) {
    return parse_http(text_given);
  }
  if (text_given.starts_with(kFile)) {
    const std::string_view path = text_given.substr(kFile.size());
    if (!path.starts_with('/')) return wrong(text_given, "write file:///PATH");
    return Source{
        .kind = Source::Kind::kFile, .text = std::string(text_given), .path = std::string(path)};
  }
  if (text_given.starts_with(kS3)) {
    const std::string_view path = text_given.substr(kS3.size());
    const std::size_t slash = path.find('/');
    if (slash == 0 || slash + 1 >= path.size() || slash == std::string_view::npos)
      return wrong(text_given, "write s3://BUCKET/KEY");
    return Source{
        .kind = Source::Kind::kS3, .text = std::string(text_given), .path = std::string(path)};
  }
  if (text_given.find("://") != std::string_view::npos) {
    return wrong(text_given, "a path, file://, http://, https:// and s3:// can be read");
  }
  return Source{.text = std::string(text_given), .path = std::string(text_given)};
}

Result<Source> redirected(const Source& from, std::string_view location) {
  const bool is_path = location.starts_with('/') && !location.starts_with("//");
  EDL_TRY(const Source to, parse_source(is_path ? text(http::url_text(from.server), location)
                                                : std::string(location)));
  if (to.kind == Source::Kind::kHttp && (to.server.tls || !from.server.tls)) return to;
  return wrong(location, text(from.text, " leads there, which is not followed"));
}

}  // namespace edl::data
