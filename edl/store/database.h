// A SQLite database that one process owns: no exceptions, errors with the disk's own words.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "edl/base/result.h"
#include "edl/store/sqlite_vfs.h"

namespace edl::store {

// A prepared statement. Bind, step (once for each row), reset.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  void bind(int place, std::int64_t value) { sqlite3_bind_int64(statement_.get(), place, value); }
  // The bytes stay valid until the next `reset`.
  void bind(int place, std::string_view bytes);
  void bind_text(int place, std::string_view characters);
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string_view bytes(int column) const;
  void reset() { sqlite3_reset(statement_.get()); }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // In write-ahead mode, synced fully, exclusively ours. Who calls holds a lock of the folder.
  static Result<std::unique_ptr<Database>> open(os::System& system, std::string path);

  Result<void> run(const char* sql);
  Result<Statement> prepare(const char* sql);
  // True when there is a row.
  Result<bool> step(Statement& statement);
  // For statements without rows: step and reset.
  Result<void> finish(Statement& statement);

  // Pages in the write-ahead file after the last commit.
  int waiting_pages() const { return waiting_pages_; }
  // Moves them into the database; with `all`, and empties the file.
  Result<void> checkpoint(bool all);

  const std::string& path() const { return path_; }

 private:
  Database(os::System& system, std::string path) : path_(std::move(path)), vfs_(system) {}
  Error error(int code);

  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  const std::string path_;
  SqliteVfs vfs_;
  std::unique_ptr<sqlite3, Close> handle_;
  int waiting_pages_ = 0;
};

}  // namespace edl::store
