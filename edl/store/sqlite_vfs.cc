#include "edl/store/sqlite_vfs.h"

#include <cstring>

#include "edl/base/text.h"

namespace edl::store {
namespace {

// SQLite allocates it and knows only its first member.
struct VfsFile {
  sqlite3_file base;
  SqliteVfs* vfs;
  os::File* file;       // ours
  std::string* new_in;  // ours: the folder to sync once, because the file is new in it
};

VfsFile& of(sqlite3_file* file) { return *reinterpret_cast<VfsFile*>(file); }
SqliteVfs& of(sqlite3_vfs* vfs) { return *static_cast<SqliteVfs*>(vfs->pAppData); }

int write_failed(SqliteVfs& vfs, const Error& error, int code) {
  return vfs.fail(error, error.code == Code::kExhausted ? SQLITE_FULL : code);
}

int close_file(sqlite3_file* file) {
  delete of(file).file;
  delete of(file).new_in;
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* into, int bytes, sqlite3_int64 offset) {
  const ByteSpan span(static_cast<std::byte*>(into), static_cast<std::size_t>(bytes));
  const auto read = of(file).file->read_at(static_cast<std::uint64_t>(offset), span);
  if (!read.ok()) return of(file).vfs->fail(read.error(), SQLITE_IOERR_READ);
  if (*read == span.size()) return SQLITE_OK;
  std::memset(span.data() + *read, 0, span.size() - *read);
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  const ConstBytes span(static_cast<const std::byte*>(from), static_cast<std::size_t>(bytes));
  const auto written = of(file).file->write_at(static_cast<std::uint64_t>(offset), span);
  if (written.ok()) return SQLITE_OK;
  return write_failed(*of(file).vfs, written.error(), SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 bytes) {
  const auto done = of(file).file->truncate(static_cast<std::uint64_t>(bytes));
  return done.ok() ? SQLITE_OK : of(file).vfs->fail(done.error(), SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* file, int) {
  VfsFile& ours = of(file);
  const auto done = ours.file->sync();
  if (!done.ok()) return ours.vfs->fail(done.error(), SQLITE_IOERR_FSYNC);
  if (ours.new_in == nullptr) return SQLITE_OK;
  const auto named = ours.vfs->system().disk().sync_directory(*ours.new_in);
  if (!named.ok()) return ours.vfs->fail(named.error(), SQLITE_IOERR_DIR_FSYNC);
  delete std::exchange(ours.new_in, nullptr);
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* bytes) {
  const auto size = of(file).file->size();
  if (!size.ok()) return of(file).vfs->fail(size.error(), SQLITE_IOERR_FSTAT);
  *bytes = static_cast<sqlite3_int64>(*size);
  return SQLITE_OK;
}

int lock(sqlite3_file*, int) { return SQLITE_OK; }
int check_lock(sqlite3_file*, int* held) {
  *held = 0;
  return SQLITE_OK;
}
int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
// A write that a power cut tears does not touch what lies beside it.
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,  // no shared memory, no mapping
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock,
    .xUnlock = lock,
    .xCheckReservedLock = check_lock,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  VfsFile& ours = of(file);
  ours = {.base = {.pMethods = nullptr}, .vfs = &of(vfs), .file = nullptr, .new_in = nullptr};
  if (path == nullptr) return SQLITE_CANTOPEN;  // temporary files: we keep them in memory
  os::Disk& disk = of(vfs).system().disk();
  const bool create = (flags & SQLITE_OPEN_CREATE) != 0;
  const bool is_new = create && !disk.exists(path);
  const bool read_only = (flags & SQLITE_OPEN_READONLY) != 0;
  if (!create && !disk.exists(path)) return SQLITE_CANTOPEN;
  auto opened = disk.open(path, read_only ? os::Open::kRead : os::Open::kWrite);
  if (!opened.ok()) return of(vfs).fail(opened.error(), SQLITE_CANTOPEN);
  ours.file = std::move(opened).value().release();
  if (is_new) ours.new_in = new std::string(os::parent_directory(path));
  ours.base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  os::Disk& disk = of(vfs).system().disk();
  if (!disk.exists(path)) return SQLITE_IOERR_DELETE_NOENT;
  const auto removed = disk.remove(path);
  if (!removed.ok()) return of(vfs).fail(removed.error(), SQLITE_IOERR_DELETE);
  if (sync_directory == 0) return SQLITE_OK;
  const auto synced = disk.sync_directory(os::parent_directory(path));
  return synced.ok() ? SQLITE_OK : of(vfs).fail(synced.error(), SQLITE_IOERR_DIR_FSYNC);
}

int access(sqlite3_vfs* vfs, const char* path, int, int* out) {
  *out = of(vfs).system().disk().exists(path) ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int bytes_max, char* out) {
  const std::size_t length = std::strlen(path) + 1;
  if (length > static_cast<std::size_t>(bytes_max)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, length);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs* vfs, int bytes, char* into) {
  of(vfs).system().fill_random(
      {reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(bytes)});
  return bytes;
}

int no_sleep(sqlite3_vfs*, int microseconds) { return microseconds; }

int current_time(sqlite3_vfs* vfs, double* julian_day) {
  constexpr double kDaySeconds = 86400;
  constexpr double kUnixEpoch = 2440587.5;
  *julian_day = kUnixEpoch + seconds(of(vfs).system().wall_time().time_since_epoch()) / kDaySeconds;
  return SQLITE_OK;
}

int no_last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

SqliteVfs::SqliteVfs(os::System& system)
    : system_(system), name_(text("edl-", reinterpret_cast<std::uintptr_t>(this))) {
  constexpr int kPathMax = 4096;
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(VfsFile);
  vfs_.mxPathname = kPathMax;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  vfs_.xAccess = access;
  vfs_.xFullPathname = full_path;
  vfs_.xRandomness = randomness;
  vfs_.xSleep = no_sleep;
  vfs_.xCurrentTime = current_time;
  vfs_.xGetLastError = no_last_error;
  EDL_CHECK(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
  // SQLite draws from one generator, seeded by the default: us, so that a virtual run repeats.
  sqlite3_randomness(0, nullptr);
}

SqliteVfs::~SqliteVfs() { sqlite3_vfs_unregister(&vfs_); }

int SqliteVfs::fail(const Error& error, int code) {
  last_error_ = error;
  return code;
}

}  // namespace edl::store
