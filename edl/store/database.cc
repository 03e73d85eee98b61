#include "edl/store/database.h"

#include "edl/base/text.h"

namespace edl::store {
namespace {

// Moving pages into the database is our business, when nobody waits for an answer.
constexpr const char* kSettings =
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA wal_autocheckpoint=0;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA cell_size_check=ON;"
    "PRAGMA trusted_schema=OFF;";

}  // namespace

void Statement::bind(int place, std::string_view bytes) {
  // A null pointer would be NULL, not an empty blob.
  const char* data = bytes.empty() ? "" : bytes.data();
  sqlite3_bind_blob64(statement_.get(), place, data, bytes.size(), SQLITE_STATIC);
}

void Statement::bind_text(int place, std::string_view characters) {
  sqlite3_bind_text(statement_.get(), place, characters.data(), static_cast<int>(characters.size()),
                    SQLITE_STATIC);
}

std::string_view Statement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int length = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string_view()
                         : std::string_view(data, static_cast<std::size_t>(length));
}

Result<std::unique_ptr<Database>> Database::open(os::System& system, std::string path) {
  std::unique_ptr<Database> database(new Database(system, std::move(path)));
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      database->path_.c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      database->vfs_.name());
  database->handle_.reset(handle);
  if (code != SQLITE_OK) return database->error(code);
  // A database that we refuse must stay as it is, so closing writes nothing.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  EDL_TRY(database->run(kSettings));
  // Behind the settings: wal_autocheckpoint takes the hook away.
  sqlite3_wal_hook(
      handle,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Database*>(self)->waiting_pages_ = pages;
        return SQLITE_OK;
      },
      database.get());
  return database;
}

Error Database::error(int code) {
  const int kind = code & 0xff;
  const bool damaged = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB;
  if (damaged) {
    return {Code::kCorrupt, text(path_, " is damaged (", sqlite3_errmsg(handle_.get()),
                                 "). Restore the folder from a copy, or choose an empty one.")};
  }
  const Code meaning = kind == SQLITE_FULL ? Code::kExhausted : Code::kUnavailable;
  if (vfs_.last_error()) return {meaning, vfs_.last_error()->message};
  return {meaning, text("cannot use ", path_, ": ", sqlite3_errstr(code))};
}

Result<void> Database::run(const char* sql) {
  vfs_.clear_error();
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return {};
  return error(code);
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error(code);
  return Statement(statement);
}

Result<bool> Database::step(Statement& statement) {
  const int code = sqlite3_step(statement.statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error(code);
}

Result<void> Database::finish(Statement& statement) {
  const auto stepped = step(statement);
  statement.reset();
  if (!stepped.ok()) return stepped.error();
  return {};
}

Result<void> Database::checkpoint(bool all) {
  vfs_.clear_error();
  const int mode = all ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, mode, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  waiting_pages_ = 0;
  return {};
}

}  // namespace edl::store
