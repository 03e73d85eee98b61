// A disk in memory that behaves as badly as a real one may. Until they are synced, writes can be
// lost, torn at sectors and kept out of order by a power cut; names until their folder is synced.
// Names are journaled: a power cut keeps a prefix of their changes. A rename is atomic.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/random.h"
#include "edl/os/disk.h"
#include "edl/os/virtual/trace.h"

namespace edl::os {

class VirtualDisk {
 public:
  VirtualDisk(std::uint64_t seed, Trace& trace);
  ~VirtualDisk();

  // The disk as one process sees it. `running` is asked before each call; `owner` holds its locks.
  std::unique_ptr<Disk> face(int owner, std::function<bool()> running);
  void release_locks(int owner);

  // All processes are dead when this is called.
  void lose_power();

  // Faults.
  void limit_bytes(std::uint64_t bytes) { capacity_bytes_ = bytes; }
  void unlimit() { capacity_bytes_ = kUnlimited; }
  void fail_next_sync() { fail_next_sync_ = true; }
  // Just before the call number `calls` from now that changes something, `blow` is told whose it
  // is. Whatever it does, does happen between two system calls of that process.
  void arm(std::uint64_t calls, std::function<void(int owner)> blow);
  void disarm() { blow_ = nullptr; }
  bool armed() const { return blow_ != nullptr || failing_in_.has_value(); }
  // The call number `calls` from now that changes something fails: nothing is done, but of a write
  // the first half.
  void fail_call(std::uint64_t calls) { failing_in_ = calls; }
  // Calls so far that change something.
  std::uint64_t changes() const { return changes_; }
  // No fault waits any more.
  void calm() {
    disarm();
    unlimit();
    fail_next_sync_ = false;
    failing_in_.reset();
  }
  void flip_bit(const std::string& path, std::uint64_t offset);

 private:
  friend class VirtualFile;
  friend class VirtualDiskFace;

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  struct Write {
    std::uint64_t offset;
    Bytes bytes;
    bool truncates;  // to `offset`, and writes nothing
  };
  struct Inode {
    Bytes current;
    Bytes durable;
    std::vector<Write> pending;
  };
  struct Entry {
    std::shared_ptr<Inode> inode;  // null for a folder
  };
  using Tree = std::map<std::string, Entry>;
  enum class Change { kAdd, kRemove, kRename };
  struct NameChange {
    Change change;
    std::string path;
    std::string to;
    Entry entry;
  };

  void change_name(NameChange change);
  static void apply(Tree& tree, const NameChange& change);
  static void apply(Bytes& content, const Write& write);
  void settle(Inode& inode);
  bool keep_part(const Write& write, Bytes& content);
  std::uint64_t used_bytes() const;
  // Whether the change must fail.
  bool before_change(int owner);
  Result<void> grow(std::uint64_t more);
  Result<void> sync(Inode& inode, const std::string& path);
  bool is_folder(const std::string& path) const;

  Random random_;
  Trace& trace_;
  Tree current_;
  Tree durable_;
  std::vector<NameChange> pending_;
  std::map<std::string, int> locks_;
  std::uint64_t capacity_bytes_ = kUnlimited;
  bool fail_next_sync_ = false;
  std::uint64_t calls_left_ = 0;
  std::function<void(int owner)> blow_;
  std::optional<std::uint64_t> failing_in_;
  std::uint64_t changes_ = 0;
};

}  // namespace edl::os
