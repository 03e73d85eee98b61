// Files. Calls block and are in order. What was written is safe from a power cut only after `sync`
// of the file; a name (new, renamed, removed) only after `sync_directory` of its folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/base/result.h"

namespace edl::os {

class File {
 public:
  virtual ~File() = default;
  // Reads up to into.size() bytes; fewer only at the end of the file.
  virtual Result<std::size_t> read_at(std::uint64_t offset, ByteSpan into) = 0;
  virtual Result<void> write_at(std::uint64_t offset, ConstBytes bytes) = 0;
  // Adds to the end in one system call. With Open::kAppend nothing of what others append to the
  // same file comes in between; an error when only a part found room.
  virtual Result<void> append(ConstBytes bytes) = 0;
  virtual Result<std::uint64_t> size() = 0;
  virtual Result<void> truncate(std::uint64_t bytes) = 0;
  virtual Result<void> sync() = 0;
};

// Held until it is destroyed or its process ends.
class DiskLock {
 public:
  virtual ~DiskLock() = default;
};

enum class Open {
  kRead,           // must exist
  kWrite,          // read and write, made when absent
  kCreateNew,      // read and write, must not exist
  kCreatePrivate,  // the same, and only its owner may read it
  kAppend,         // read and append only, made when absent
};

class Disk {
 public:
  virtual ~Disk() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, Open mode) = 0;
  // Replaces `to` in one step, also when the power fails.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  // A file, or an empty folder.
  virtual Result<void> remove(const std::string& path) = 0;
  // With the folders above it; no error when it exists.
  virtual Result<void> make_directory(const std::string& path) = 0;
  virtual Result<void> sync_directory(const std::string& path) = 0;
  // Names of the entries, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  // A conflict when another process holds it.
  virtual Result<std::unique_ptr<DiskLock>> lock(const std::string& path) = 0;
  virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
  // Whether only its owner may read it: what a file with a secret must be.
  virtual Result<bool> is_private(const std::string& path) = 0;
};

// The folder that holds `path`: "a/b" -> "a", "b" -> ".".
std::string parent_directory(const std::string& path);

Result<Bytes> read_file(Disk& disk, const std::string& path, std::uint64_t bytes_max);
// Makes `path` hold exactly `bytes`, or what it held before, whatever happens: writes beside it,
// syncs, renames, syncs the folder.
Result<void> replace_file(Disk& disk, const std::string& path, ConstBytes bytes);

}  // namespace edl::os
