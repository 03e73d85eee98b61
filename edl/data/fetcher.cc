#include "edl/data/fetcher.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

bool is_path(const Source& source) { return source.kind == Source::Kind::kPath; }

std::string sum_of(std::string_view words) {
  Sha256 hash;
  hash.add(bytes_of(words));
  return hash.finish();
}

Error wrong_sum(const WantedFile& file, const std::string& found) {
  return {Code::kCorrupt,
          text(file.url, " has the SHA-256 ", found, ", but ", file.sha256, " is wanted: it was ",
               "changed there, or damaged on its way. It is not used")};
}

}  // namespace

Result<std::string> Fetched::path(const std::string& name) const {
  for (const FetchedFile& file : files) {
    if (file.name == name) return file.path;
  }
  return Error{Code::kNotFound, text("there is no file ", name, " in the list of ", files.size())};
}

Fetcher::Fetcher(os::LoopSystem& system, FetchOptions options)
    : system_(system), options_(std::move(options)), folder_(system, options_.cache) {}
Fetcher::~Fetcher() = default;

Result<Fetched> Fetcher::fetch(const std::vector<WantedFile>& files) {
  deadline_ = system_.now() + options_.limit;
  uses_.clear();
  std::vector<Source> sources;
  std::vector<std::string> sums;
  bool needs_cache = false;
  for (const WantedFile& file : files) {
    EDL_TRY(sources.emplace_back(), source_of(file));
    if (is_path(sources.back())) continue;
    needs_cache = true;
    if (!file.sha256.empty()) sums.push_back(file.sha256);
  }
  Fetched out;
  if (needs_cache) {
    if (options_.cache.folder.empty()) {
      return Error{Code::kInvalid, "there is no folder for the cache: name one by --cache=DIR"};
    }
    EDL_TRY(folder_.make());
    EDL_TRY(uses_.emplace_back(), folder_.use(sums));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    EDL_TRY(FetchedFile file, bring(files[i], sources[i]));
    out.files.push_back(std::move(file));
  }
  out.uses = std::exchange(uses_, {});
  return out;
}

// An object of S3 is one on an HTTP server, signed.
Result<Source> Fetcher::source_of(const WantedFile& file) {
  EDL_TRY(Source source, parse_source(file.url));
  if (source.kind != Source::Kind::kS3) return source;
  if (options_.cache.s3_access.empty()) {
    return Error{Code::kInvalid, text("cannot fetch ", file.url, ": name the file with server and ",
                                      "keys by --s3-access=FILE")};
  }
  if (!s3_) {
    EDL_TRY(s3_, read_s3_access(system_.disk(), options_.cache.s3_access));
  }
  source.kind = Source::Kind::kHttp;
  source.server = s3_->endpoint;
  source.target = s3_target(source.path);
  source.is_signed = true;
  return source;
}

Result<FetchedFile> Fetcher::bring(const WantedFile& file, const Source& source) {
  if (is_path(source)) return in_place(file, source);
  FetchedFile out{.name = file.name, .sha256 = file.sha256};
  if (file.sha256.empty()) {
    out.was_here = false;
    EDL_TRY(out.sha256, bring_unchecked(file, source));
  } else {
    EDL_TRY(const bool is_fetched, bring_checked(file, source));
    out.was_here = !is_fetched;
  }
  out.path = folder_.path(out.sha256);
  EDL_TRY(out.bytes, size_of(out.path));
  return out;
}

// A path is used where it lies.
Result<FetchedFile> Fetcher::in_place(const WantedFile& file, const Source& source) {
  FetchedFile out{.name = file.name, .path = source.path, .sha256 = file.sha256};
  EDL_TRY(out.bytes, size_of(source.path));
  if (file.bytes && out.bytes != *file.bytes) {
    return Error{Code::kCorrupt, text(source.path, " has ", out.bytes, " bytes, but ", *file.bytes,
                                      " are wanted: it is another file, or cut off")};
  }
  if (file.sha256.empty()) return out;
  EDL_TRY(const std::string found, sha256_of(system_.disk(), source.path));
  if (found != file.sha256) return wrong_sum(file, found);
  return out;
}

// One of another length can only be damaged: it is taken away.
Result<bool> Fetcher::is_here(const WantedFile& file) {
  if (!folder_.has(file.sha256)) return false;
  EDL_TRY(const std::uint64_t bytes, size_of(folder_.path(file.sha256)));
  if (!file.bytes || bytes == *file.bytes) return true;
  EDL_TRY(system_.disk().remove(folder_.path(file.sha256)));
  return false;
}

Result<bool> Fetcher::bring_checked(const WantedFile& file, const Source& source) {
  EDL_TRY(bool is_there, is_here(file));
  if (is_there) return false;
  EDL_TRY(const auto fetching, folder_.begin_fetch(file.sha256, deadline_));
  EDL_TRY(is_there, is_here(file));  // another process may have fetched it meanwhile
  if (is_there) return false;
  EDL_TRY(make_room(file));
  const std::string path = folder_.part(file.sha256);
  EDL_TRY(auto part, PartFile::open(system_.disk(), path));
  const bool is_resumed = part->bytes() > 0;
  EDL_TRY(std::string found, fill(*part, file, source));
  if (found != file.sha256 && is_resumed) {
    // What was here may have been the beginning of something else.
    EDL_TRY(system_.disk().remove(path));
    EDL_TRY(part, PartFile::open(system_.disk(), path));
    EDL_TRY(found, fill(*part, file, source));
  }
  if (found != file.sha256) {
    EDL_TRY(system_.disk().remove(path));
    return wrong_sum(file, found);
  }
  EDL_TRY(folder_.keep(path, file.sha256));
  EDL_TRY(folder_.make_room(0));
  return true;
}

// Without a sum nobody knows whether it is here: it is always fetched, from its beginning.
Result<std::string> Fetcher::bring_unchecked(const WantedFile& file, const Source& source) {
  const std::string name = sum_of(file.url);
  EDL_TRY(const auto fetching, folder_.begin_fetch(name, deadline_));
  EDL_TRY(make_room(file));
  EDL_TRY(const auto part, PartFile::open(system_.disk(), folder_.part(name)));
  EDL_TRY(part->restart());
  EDL_TRY(const std::string found, fill(*part, file, source));
  EDL_TRY(uses_.emplace_back(), folder_.use({found}));
  EDL_TRY(folder_.keep(part->path(), found));
  EDL_TRY(folder_.make_room(0));
  return found;
}

Result<void> Fetcher::make_room(const WantedFile& file) {
  EDL_TRY(folder_.make_room(file.bytes.value_or(0)));
  EDL_TRY(const std::uint64_t free, system_.disk().free_bytes(options_.cache.folder));
  if (file.bytes.value_or(0) <= free) return {};
  return Error{Code::kExhausted,
               text("cannot fetch ", file.url, ": it has ", *file.bytes, " bytes, and the disk of ",
                    options_.cache.folder, " has ", free, " left")};
}

Result<std::string> Fetcher::fill(PartFile& part, const WantedFile& file, const Source& source) {
  const Time began = system_.now();
  if (source.kind == Source::Kind::kFile) {
    EDL_TRY(copy(part, source));
  } else {
    DownloadLimits limits = options_.download;
    limits.deadline = deadline_;
    limits.bytes_max = options_.cache.bytes_max;
    limits.bytes_known = file.bytes;
    EDL_TRY(http::Client* const from, client(source));
    Download download(system_, *from, part, limits);
    download.sign_with(s3_ ? &*s3_ : nullptr);
    EDL_TRY(download.run(source));
  }
  EDL_TRY(std::string sum, part.finish());
  system_.log().info(
      "fetched",
      {{"url", source.text}, {"bytes", part.bytes()}, {"seconds", seconds(system_.now() - began)}});
  return sum;
}

Result<void> Fetcher::copy(PartFile& part, const Source& source) {
  EDL_TRY(part.restart());
  EDL_TRY(const auto from, system_.disk().open(source.path, os::Open::kRead));
  Bytes piece(kPieceBytes);
  while (true) {
    EDL_TRY(const std::size_t got, from->read_at(part.bytes(), piece));
    if (part.bytes() + got > options_.cache.bytes_max) {
      return Error{Code::kExhausted, text("cannot fetch ", source.text, ": it has more than the ",
                                          options_.cache.bytes_max, " bytes of the cache")};
    }
    EDL_TRY(part.add(ConstBytes(piece).first(got)));
    if (got < piece.size()) return {};
  }
}

Result<http::Client*> Fetcher::client(const Source& source) {
  if (client_ != nullptr) return client_.get();
  auto tls = http::TlsContext::for_client(system_.disk(), {});
  if (!tls.ok() && source.server.tls) return tls.error();
  if (tls.ok()) tls_ = std::move(tls).value();  // also for http: it may lead to https
  client_ = std::make_unique<http::Client>(system_, http::ClientOptions{.tls = tls_.get()});
  return client_.get();
}

Result<std::uint64_t> Fetcher::size_of(const std::string& path) {
  EDL_TRY(const auto file, system_.disk().open(path, os::Open::kRead));
  return file->size();
}

}  // namespace edl::data
