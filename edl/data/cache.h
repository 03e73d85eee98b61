// The node's cache of fetched files, as programs and commands see it. What was fetched through it
// stays in the cache as long as it lives, also in processes that are forked meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "edl/data/fetcher.h"

namespace edl::data {

// What processes that we start are told of the cache.
inline constexpr const char* kCacheVariable = "EDL_CACHE";
inline constexpr const char* kCacheMaxVariable = "EDL_CACHE_MAX";
inline constexpr const char* kS3AccessVariable = "EDL_S3_ACCESS";

// What the environment says, as main reads it; empty where it says nothing.
struct CacheEnvironment {
  std::string cache{};      // kCacheVariable
  std::string cache_max{};  // kCacheMaxVariable
  std::string s3_access{};  // kS3AccessVariable
  std::string xdg{};        // XDG_CACHE_HOME
  std::string home{};       // HOME
};
// $EDL_CACHE, else $XDG_CACHE_HOME/edl, else ~/.cache/edl.
Result<CacheOptions> cache_options(const CacheEnvironment& environment);

class Cache {
 public:
  // Each fetch runs on a system of its own.
  using MakeSystem = std::function<std::unique_ptr<os::LoopSystem>()>;
  Cache(FetchOptions options, MakeSystem make_system);

  // The files of a list (file_list.h) at this path, which ends with .json; or one file, by its
  // address or path, called "file". Blocks until all are here.
  Result<Fetched> fetch(const std::string& what, const std::string& sha256 = "");
  // The path of one file; blocks until it is here.
  Result<std::string> fetch_file(const std::string& url, const std::string& sha256);

  const std::string& folder() const { return options_.cache.folder; }
  std::unique_ptr<os::LoopSystem> make_system() const { return make_system_(); }

 private:
  const FetchOptions options_;
  const MakeSystem make_system_;
  std::vector<std::unique_ptr<os::DiskLock>> uses_;
};

// What a list at this path wants, or one file.
Result<std::vector<WantedFile>> wanted_files(os::Disk& disk, const std::string& what,
                                             const std::string& sha256);

}  // namespace edl::data
