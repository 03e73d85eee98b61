// The folder where a node keeps files that it fetched, by their SHA-256:
//   sha256/ab/abcd...  whole files, which never change
//   part/abcd...       what has come of a file so far
//   fetch/ab           whoever holds this lock fetches the files that begin like this
//   use/1234...        the sums that a process uses, and its lock on them
//   lock               held while files are removed, or a use is written down
// Every lock ends with its process. Whoever removes files looks at the uses first: a file that a
// living process uses stays. Blocks; used by processes that have nothing else to do meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "edl/base/time.h"
#include "edl/os/loop.h"

namespace edl::data {

struct CacheOptions {
  std::string folder{};
  std::uint64_t bytes_max = std::uint64_t{20} << 30;
  std::string s3_access{};  // the file that s3.h reads, for s3:// addresses
};

// "20GiB", "500MiB", "64KiB" or a number of bytes.
Result<std::uint64_t> parse_size(std::string_view text);

struct CachedFile {
  std::string sha256;
  std::uint64_t bytes = 0;
  WallTime used{};      // when a process last asked for it
  bool in_use = false;  // by a process that lives
};

class CacheFolder {
 public:
  CacheFolder(os::LoopSystem& system, CacheOptions options);

  const CacheOptions& options() const { return options_; }
  std::string path(const std::string& sha256) const;
  std::string part(const std::string& name) const;
  bool has(const std::string& sha256) const;

  // With its folders.
  Result<void> make();

  // From now on these stay, whether they are here already or come later, until the lock ends.
  Result<std::unique_ptr<os::DiskLock>> use(const std::vector<std::string>& sums);
  // To fetch this file: waits while another process does. Until `deadline`.
  Result<std::unique_ptr<os::DiskLock>> begin_fetch(const std::string& sha256, Time deadline);
  // Removes what was not used for longest until so many more bytes find room.
  Result<void> make_room(std::uint64_t bytes);
  // The part has become the file: synced, and under its name.
  Result<void> keep(const std::string& part, const std::string& sha256);

  // Oldest use first.
  Result<std::vector<CachedFile>> list() const;
  // Removes all that nobody uses; answers how many bytes that were.
  Result<std::uint64_t> clear();

 private:
  struct Entry {
    std::string path;
    std::uint64_t bytes = 0;
    WallTime used{};
    std::string name;  // the sum, or of a part
    bool is_part = false;
  };
  Result<std::unique_ptr<os::DiskLock>> wait_for(const std::string& path, Time deadline) const;
  Result<std::unique_ptr<os::DiskLock>> lock_all() const;
  Result<std::vector<Entry>> entries() const;
  Result<std::set<std::string>> sums_in_use() const;
  Result<bool> remove(const Entry& entry, const std::set<std::string>& used) const;
  std::string fetch_lock(const std::string& name) const;

  os::LoopSystem& system_;
  const CacheOptions options_;
};

}  // namespace edl::data
