// SQLite's view of the disk, on the door: every byte that it reads and writes goes through
// os::Disk, so that it meets the same faults as everything else.
//
// One connection at a time, in exclusive locking mode: there are no locks between processes and no
// shared memory here. Who opens a database holds a lock of its folder.
#pragma once

#include <sqlite3.h>

#include <optional>
#include <string>

#include "edl/os/system.h"

namespace edl::store {

class SqliteVfs {
 public:
  // Registered with SQLite under `name()` until it is destroyed.
  explicit SqliteVfs(os::System& system);
  ~SqliteVfs();
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;

  const char* name() const { return name_.c_str(); }
  // What the disk said when it last failed; SQLite keeps only a number of it.
  const std::optional<Error>& last_error() const { return last_error_; }
  void clear_error() { last_error_.reset(); }

  // For the functions that SQLite calls.
  os::System& system() { return system_; }
  int fail(const Error& error, int code);

 private:
  os::System& system_;
  std::string name_;
  sqlite3_vfs vfs_{};
  std::optional<Error> last_error_;
};

}  // namespace edl::store
