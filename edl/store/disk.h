// The store's disk: every version, lease and revision in one SQLite database in a folder of its
// own. The format is described in docs/reference/store-disk.md.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "edl/store/core.h"
#include "edl/store/database.h"

namespace edl::store {

struct DiskLimits {
  int waiting_pages_max = 2000;       // 8 MB of write-ahead file before they are moved
  std::size_t forget_at_once = 2000;  // entries that a compaction made meaningless
};

class StoreDisk {
 public:
  // Makes the folder when it is absent. A conflict when another server uses it.
  static Result<std::unique_ptr<StoreDisk>> open(os::System& system, const std::string& folder,
                                                 DiskLimits limits = {});
  ~StoreDisk();

  // Everything that was committed. Every entry is checked against its checksum.
  Result<Image> load();
  // Notes that the store has begun to serve; needed before the first commit.
  Result<void> begin(std::uint64_t starts);
  // All of it, or nothing; on disk when it returns. kExhausted: nothing, and it may be tried
  // again. After any other error the disk's state is unknown: end the process.
  Result<void> commit(const Changes& changes, const History& history);

  // Work that can wait. True when there is more.
  bool wants_rest() const;
  Result<void> rest();
  // For an orderly end.
  Result<void> close();

  std::int64_t bytes() const { return bytes_; }

 private:
  StoreDisk(os::System& system, DiskLimits limits, std::unique_ptr<os::DiskLock> lock,
            std::unique_ptr<Database> database);

  Result<void> prepare();
  Result<void> make_tables();
  Result<std::int64_t> setting(std::string_view name, std::int64_t otherwise);
  Result<void> set(std::string_view name, std::int64_t value);
  Result<void> load_versions(Image& image);
  Result<void> load_leases(Image& image);
  Result<void> write(const Changes& changes, const History& history);
  Result<void> write_version(const KeyEntry& entry, const Version& version);
  Result<void> forget(std::size_t entries);
  Result<void> measure();

  os::System& system_;
  const DiskLimits limits_;
  std::unique_ptr<os::DiskLock> lock_;
  std::unique_ptr<Database> database_;
  struct Statements;
  std::unique_ptr<Statements> statements_;
  std::deque<Place> forgotten_;  // in the database still, but without meaning
  std::int64_t bytes_ = 0;
};

}  // namespace edl::store
