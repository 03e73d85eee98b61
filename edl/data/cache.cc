#include "edl/data/cache.h"

#include <iterator>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::string_view kListEnding = ".json";

}  // namespace

Result<CacheOptions> cache_options(const CacheEnvironment& environment) {
  CacheOptions out;
  out.s3_access = environment.s3_access;
  if (!environment.cache.empty()) {
    out.folder = environment.cache;
  } else if (!environment.xdg.empty()) {
    out.folder = environment.xdg + "/edl";
  } else if (!environment.home.empty()) {
    out.folder = environment.home + "/.cache/edl";
  }
  if (!environment.cache_max.empty()) {
    EDL_TRY(out.bytes_max, parse_size(environment.cache_max));
  }
  return out;
}

Result<std::vector<WantedFile>> wanted_files(os::Disk& disk, const std::string& what,
                                             const std::string& sha256) {
  EDL_TRY(const Source source, parse_source(what));
  const bool is_list = source.kind == Source::Kind::kPath && what.ends_with(kListEnding);
  if (!is_list || !sha256.empty()) {
    if (const std::string problem = sha256_problem(sha256); !sha256.empty() && !problem.empty()) {
      return Error{Code::kInvalid, problem};
    }
    return std::vector<WantedFile>{{.name = "file", .url = what, .sha256 = sha256}};
  }
  EDL_TRY(const Bytes json, os::read_file(disk, what, kFileListBytesMax));
  auto files = parse_file_list(text_of(json), os::parent_directory(what));
  if (!files.ok()) return Error{files.error().code, text(what, ": ", files.error().message)};
  return files;
}

Cache::Cache(FetchOptions options, MakeSystem make_system)
    : options_(std::move(options)), make_system_(std::move(make_system)) {}

// The loop lives only as long as the call: who forks afterwards has no threads and no sockets.
Result<Fetched> Cache::fetch(const std::string& what, const std::string& sha256) {
  const auto system = make_system_();
  EDL_TRY(const auto files, wanted_files(system->disk(), what, sha256));
  EDL_TRY(Fetched out, Fetcher(*system, options_).fetch(files));
  std::move(out.uses.begin(), out.uses.end(), std::back_inserter(uses_));
  out.uses.clear();
  return out;
}

Result<std::string> Cache::fetch_file(const std::string& url, const std::string& sha256) {
  EDL_TRY(const Fetched fetched, fetch(url, sha256));
  return fetched.files.front().path;
}

}  // namespace edl::data
