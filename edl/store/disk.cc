#include "edl/store/disk.h"

#include "edl/base/text.h"

namespace edl::store {
namespace {

constexpr std::int64_t kFormat = 1;

constexpr const char* kTables =
    "CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE versions(place INTEGER PRIMARY KEY, created INTEGER NOT NULL,"
    " version INTEGER NOT NULL, lease INTEGER NOT NULL, crc INTEGER NOT NULL,"
    " key BLOB NOT NULL, value BLOB NOT NULL);"
    "CREATE TABLE leases(id INTEGER PRIMARY KEY, ttl INTEGER NOT NULL);";

std::int64_t checksum(std::string_view key, const Version& version) {
  const std::int64_t numbers[] = {version.place.value(), version.create_revision, version.version,
                                  version.lease, static_cast<std::int64_t>(key.size())};
  std::uint32_t crc = crc32c(std::as_bytes(std::span(numbers)));
  crc = crc32c(bytes_of(key), crc);
  return crc32c(bytes_of(version.value), crc);
}

// After a sync that failed, a process still reads what may never reach the disk. The one before us
// may have ended for that reason, so what we read and build on is written once more and synced.
Result<void> write_again(os::Disk& disk, const std::string& path, std::uint64_t bytes_max) {
  constexpr std::size_t kPiece = 1 << 20;
  if (!disk.exists(path)) return {};
  EDL_TRY(const auto file, disk.open(path, os::Open::kWrite));
  EDL_TRY(const std::uint64_t size, file->size());
  const std::uint64_t end = std::min(size, bytes_max);
  Bytes piece;
  for (std::uint64_t offset = 0; offset < end; offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(end - offset, kPiece));
    EDL_TRY(const std::size_t read, file->read_at(offset, piece));
    if (read < piece.size()) return Error{Code::kUnavailable, text(path, " shrinks")};
    EDL_TRY(file->write_at(offset, piece));
  }
  return file->sync();
}

// Pages of the database itself that were not synced are in the write-ahead file still, all but the
// first one, which a new database gets before it has such a file.
Result<void> write_again(os::Disk& disk, const std::string& database) {
  constexpr std::uint64_t kFirstPage = 4096;
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  EDL_TRY(write_again(disk, database, kFirstPage));
  EDL_TRY(write_again(disk, database + "-wal", kAll));
  return disk.sync_directory(os::parent_directory(database));
}

}  // namespace

struct StoreDisk::Statements {
  Statement begin, commit, rollback;
  Statement setting, set;
  Statement add_version, forget;
  Statement add_lease, end_lease;
  Statement pages;
};

StoreDisk::StoreDisk(os::System& system, DiskLimits limits, std::unique_ptr<os::DiskLock> lock,
                     std::unique_ptr<Database> database)
    : system_(system), limits_(limits), lock_(std::move(lock)), database_(std::move(database)) {}

StoreDisk::~StoreDisk() = default;

Result<std::unique_ptr<StoreDisk>> StoreDisk::open(os::System& system, const std::string& folder,
                                                   DiskLimits limits) {
  os::Disk& disk = system.disk();
  EDL_TRY(disk.make_directory(folder));
  EDL_TRY(disk.sync_directory(os::parent_directory(folder)));
  auto lock = disk.lock(folder + "/lock");
  if (!lock.ok() && lock.error().code == Code::kConflict) {
    return Error{Code::kConflict, text("another server uses the folder ", folder,
                                       ": end it first, or choose another folder.")};
  }
  if (!lock.ok()) return lock.error();
  const std::string path = folder + "/store.db";
  EDL_TRY(write_again(disk, path));
  EDL_TRY(auto database, Database::open(system, path));
  std::unique_ptr<StoreDisk> opened(
      new StoreDisk(system, limits, std::move(lock).value(), std::move(database)));
  EDL_TRY(opened->prepare());
  return opened;
}

Result<void> StoreDisk::prepare() {
  EDL_TRY(Statement format, database_->prepare("PRAGMA user_version"));
  EDL_TRY(const bool found, database_->step(format));
  const std::int64_t number = found ? format.integer(0) : 0;
  format.reset();
  if (number == 0) EDL_TRY(make_tables());
  if (number > kFormat) {
    return Error{Code::kInvalid,
                 text(database_->path(), " has format ", number, ", which is newer than ", kFormat,
                      ": use the program that made it, or a newer one.")};
  }
  Database& db = *database_;
  EDL_TRY(Statement begin, db.prepare("BEGIN IMMEDIATE"));
  EDL_TRY(Statement commit, db.prepare("COMMIT"));
  EDL_TRY(Statement rollback, db.prepare("ROLLBACK"));
  EDL_TRY(Statement setting, db.prepare("SELECT value FROM settings WHERE name=?"));
  EDL_TRY(Statement set, db.prepare("INSERT OR REPLACE INTO settings VALUES(?,?)"));
  EDL_TRY(Statement add_version, db.prepare("INSERT INTO versions VALUES(?,?,?,?,?,?,?)"));
  EDL_TRY(Statement forget, db.prepare("DELETE FROM versions WHERE place=?"));
  EDL_TRY(Statement add_lease, db.prepare("INSERT INTO leases VALUES(?,?)"));
  EDL_TRY(Statement end_lease, db.prepare("DELETE FROM leases WHERE id=?"));
  EDL_TRY(Statement pages, db.prepare("PRAGMA page_count"));
  statements_ = std::make_unique<Statements>(
      Statements{std::move(begin), std::move(commit), std::move(rollback), std::move(setting),
                 std::move(set), std::move(add_version), std::move(forget), std::move(add_lease),
                 std::move(end_lease), std::move(pages)});
  return measure();
}

// In one transaction: after a crash there is all of it, or an empty database.
Result<void> StoreDisk::make_tables() {
  std::uint64_t chance[2];
  system_.fill_random(std::as_writable_bytes(std::span(chance)));
  const std::string sql =
      text("BEGIN IMMEDIATE;", kTables, "INSERT INTO settings VALUES('cluster_id',",
           static_cast<std::int64_t>(chance[0] | 1), "),('member_id',",
           static_cast<std::int64_t>(chance[1] | 1), ");PRAGMA user_version=", kFormat, ";COMMIT");
  return database_->run(sql.c_str());
}

Result<std::int64_t> StoreDisk::setting(std::string_view name, std::int64_t otherwise) {
  Statement& statement = statements_->setting;
  statement.bind_text(1, name);
  const auto found = database_->step(statement);
  const std::int64_t value = found.ok() && *found ? statement.integer(0) : otherwise;
  statement.reset();
  if (!found.ok()) return found.error();
  return value;
}

Result<void> StoreDisk::set(std::string_view name, std::int64_t value) {
  statements_->set.bind_text(1, name);
  statements_->set.bind(2, value);
  return database_->finish(statements_->set);
}

Result<Image> StoreDisk::load() {
  Image image;
  EDL_TRY(const std::int64_t cluster_id, setting("cluster_id", 0));
  EDL_TRY(const std::int64_t member_id, setting("member_id", 0));
  EDL_TRY(const std::int64_t starts, setting("starts", 0));
  EDL_TRY(const std::int64_t compacted, setting("compacted", -1));
  image.cluster_id = static_cast<std::uint64_t>(cluster_id);
  image.member_id = static_cast<std::uint64_t>(member_id);
  image.starts = static_cast<std::uint64_t>(starts) + 1;
  EDL_TRY(load_versions(image));
  EDL_TRY(load_leases(image));
  forgotten_.clear();
  if (compacted >= 0) {
    const auto gone = image.history.compact(compacted);
    forgotten_.assign(gone.begin(), gone.end());
  }
  return image;
}

Result<void> StoreDisk::load_versions(Image& image) {
  EDL_TRY(Statement rows, database_->prepare("SELECT * FROM versions ORDER BY place"));
  for (;;) {
    EDL_TRY(const bool more, database_->step(rows));
    if (!more) return {};
    Version version{.place = Place(rows.integer(0)),
                    .create_revision = rows.integer(1),
                    .version = rows.integer(2),
                    .lease = rows.integer(3),
                    .value = std::string(rows.bytes(6))};
    std::string key(rows.bytes(5));
    if (checksum(key, version) != rows.integer(4)) {
      return Error{Code::kCorrupt, text(database_->path(), " is damaged: the entry of revision ",
                                        version.place.revision(), " does not match its checksum. ",
                                        "Restore the folder from a copy, or choose an empty one.")};
    }
    image.history.load(std::move(key), std::move(version));
  }
}

Result<void> StoreDisk::load_leases(Image& image) {
  EDL_TRY(Statement rows, database_->prepare("SELECT id, ttl FROM leases"));
  for (;;) {
    EDL_TRY(const bool more, database_->step(rows));
    if (!more) return {};
    image.leases.push_back({rows.integer(0), rows.integer(1)});
  }
}

Result<void> StoreDisk::begin(std::uint64_t starts) {
  return set("starts", static_cast<std::int64_t>(starts));
}

Result<void> StoreDisk::commit(const Changes& changes, const History& history) {
  EDL_TRY(database_->finish(statements_->begin));
  auto written = write(changes, history);
  if (written.ok()) written = database_->finish(statements_->commit);
  if (!written.ok()) {
    (void)database_->finish(statements_->rollback);  // SQLite may have done so already
    return written;
  }
  forgotten_.insert(forgotten_.end(), changes.forgotten.begin(), changes.forgotten.end());
  return {};
}

Result<void> StoreDisk::write(const Changes& changes, const History& history) {
  for (const History::Change& change : changes.versions) {
    EDL_TRY(write_version(*change.entry, history.at(change)));
  }
  for (const LeaseTerm& lease : changes.leases) {
    Statement& statement = lease.ttl > 0 ? statements_->add_lease : statements_->end_lease;
    statement.bind(1, lease.id);
    if (lease.ttl > 0) statement.bind(2, lease.ttl);
    EDL_TRY(database_->finish(statement));
  }
  if (!changes.compacted) return {};
  return set("compacted", *changes.compacted);
}

Result<void> StoreDisk::write_version(const KeyEntry& entry, const Version& version) {
  Statement& add = statements_->add_version;
  add.bind(1, version.place.value());
  add.bind(2, version.create_revision);
  add.bind(3, version.version);
  add.bind(4, version.lease);
  add.bind(5, checksum(entry.first, version));
  add.bind(6, entry.first);
  add.bind(7, version.value);
  return database_->finish(add);
}

bool StoreDisk::wants_rest() const {
  return !forgotten_.empty() || database_->waiting_pages() > limits_.waiting_pages_max;
}

Result<void> StoreDisk::rest() {
  if (database_->waiting_pages() > limits_.waiting_pages_max) {
    EDL_TRY(database_->checkpoint(false));
    return measure();
  }
  return forget(limits_.forget_at_once);
}

Result<void> StoreDisk::forget(std::size_t entries) {
  EDL_TRY(database_->finish(statements_->begin));
  const std::size_t count = std::min(entries, forgotten_.size());
  Result<void> done;
  for (std::size_t i = 0; i < count && done.ok(); ++i) {
    statements_->forget.bind(1, forgotten_[i].value());
    done = database_->finish(statements_->forget);
  }
  if (done.ok()) done = database_->finish(statements_->commit);
  if (!done.ok()) {
    (void)database_->finish(statements_->rollback);
    return done;
  }
  forgotten_.erase(forgotten_.begin(), forgotten_.begin() + static_cast<std::ptrdiff_t>(count));
  return {};
}

Result<void> StoreDisk::measure() {
  constexpr std::int64_t kPageBytes = 4096;
  EDL_TRY(const bool found, database_->step(statements_->pages));
  if (found) bytes_ = statements_->pages.integer(0) * kPageBytes;
  statements_->pages.reset();
  return {};
}

Result<void> StoreDisk::close() { return database_->checkpoint(true); }

}  // namespace edl::store
