// Brings files to this node: each is looked for in the cache, and fetched into it where it is
// missing. Nothing comes into the cache whose sum is not the wanted one. Blocks: runs the system's
// loop meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/data/cache_folder.h"
#include "edl/data/download.h"
#include "edl/data/fetched.h"
#include "edl/data/file_list.h"
#include "edl/http/client.h"

namespace edl::data {

struct FetchOptions {
  CacheOptions cache{};
  Duration limit = 1h;  // for all files of a call
  DownloadLimits download{};
};

class Fetcher {
 public:
  Fetcher(os::LoopSystem& system, FetchOptions options);
  ~Fetcher();

  // All of them or an error.
  Result<Fetched> fetch(const std::vector<WantedFile>& files);

 private:
  Result<FetchedFile> bring(const WantedFile& file, const Source& source);
  Result<FetchedFile> in_place(const WantedFile& file, const Source& source);
  Result<bool> is_here(const WantedFile& file);
  // Whether it had to be fetched by us.
  Result<bool> bring_checked(const WantedFile& file, const Source& source);
  Result<std::string> bring_unchecked(const WantedFile& file, const Source& source);
  Result<std::string> fill(PartFile& part, const WantedFile& file, const Source& source);
  Result<void> copy(PartFile& part, const Source& source);
  Result<void> make_room(const WantedFile& file);
  Result<http::Client*> client(const Source& source);
  Result<Source> source_of(const WantedFile& file);
  Result<std::uint64_t> size_of(const std::string& path);

  os::LoopSystem& system_;
  const FetchOptions options_;
  CacheFolder folder_;
  std::optional<S3Access> s3_;
  std::unique_ptr<http::TlsContext> tls_;
  std::unique_ptr<http::Client> client_;
  Time deadline_{};
  std::vector<std::unique_ptr<os::DiskLock>> uses_;
};

}  // namespace edl::data
