#include "edl/data/cache_folder.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "edl/base/text.h"
#include "edl/os/folder.h"

namespace edl::data {
namespace {

constexpr Duration kLookEvery = 50ms;
constexpr Duration kLockLimit = 60s;  // removing many files takes a while
constexpr std::size_t kPrefix = 2;
constexpr std::size_t kEntriesMax = 10'000'000;
constexpr std::size_t kUsesMax = 100'000;
constexpr std::uint64_t kUseBytesMax = std::uint64_t{64} << 20;

}  // namespace

Result<std::uint64_t> parse_size(std::string_view given) {
  struct Unit {
    std::string_view name;
    int bits;
  };
  static constexpr std::array<Unit, 5> kUnits{
      {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}}};
  for (const Unit& unit : kUnits) {
    if (!given.ends_with(unit.name)) continue;
    const std::string_view digits = given.substr(0, given.size() - unit.name.size());
    std::uint64_t number = 0;
    const auto [end, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_whole = failed == std::errc() && end == digits.data() + digits.size();
    if (is_whole && number <= (std::uint64_t{1} << 62) >> unit.bits) return number << unit.bits;
    break;
  }
  return Error{Code::kInvalid,
               text("\"", given, "\" is no size: write 20GiB, 500MiB or a number of bytes")};
}

CacheFolder::CacheFolder(os::LoopSystem& system, CacheOptions options)
    : system_(system), options_(std::move(options)) {}

std::string CacheFolder::path(const std::string& sha256) const {
  return text(options_.folder, "/sha256/", sha256.substr(0, kPrefix), "/", sha256);
}
std::string CacheFolder::part(const std::string& name) const {
  return text(options_.folder, "/part/", name);
}
std::string CacheFolder::fetch_lock(const std::string& name) const {
  return text(options_.folder, "/fetch/", name.substr(0, kPrefix));
}

bool CacheFolder::has(const std::string& sha256) const {
  return system_.disk().exists(path(sha256));
}

Result<void> CacheFolder::make() {
  for (const char* name : {"sha256", "part", "fetch", "use"}) {
    EDL_TRY(system_.disk().make_directory(text(options_.folder, "/", name)));
  }
  return {};
}

Result<std::unique_ptr<os::DiskLock>> CacheFolder::wait_for(const std::string& path,
                                                            Time deadline) const {
  while (true) {
    auto lock = system_.disk().lock(path);
    if (lock.ok() || lock.error().code != Code::kConflict) return lock;
    if (system_.now() >= deadline) {
      return Error{Code::kTimeout, text("another process has held ", path, " for too long")};
    }
    const os::Pending wait = system_.after(kLookEvery, [this] { system_.finish(0); });
    system_.run();
  }
}

Result<std::unique_ptr<os::DiskLock>> CacheFolder::lock_all() const {
  return wait_for(options_.folder + "/lock", system_.now() + kLockLimit);
}

Result<std::unique_ptr<os::DiskLock>> CacheFolder::begin_fetch(const std::string& sha256,
                                                               Time deadline) {
  return wait_for(fetch_lock(sha256), deadline);
}

Result<std::unique_ptr<os::DiskLock>> CacheFolder::use(const std::vector<std::string>& sums) {
  EDL_TRY(const auto all, lock_all());
  EDL_TRY(sums_in_use());  // takes away what dead processes left
  std::array<std::byte, 16> chance{};
  system_.fill_random(chance);
  const std::string path = text(options_.folder, "/use/", hex(chance));
  EDL_TRY(auto lock, system_.disk().lock(path));
  std::string lines;
  for (const std::string& sum : sums) lines += sum + "\n";
  EDL_TRY(const auto file, system_.disk().open(path, os::Open::kWrite));
  EDL_TRY(file->write_at(0, bytes_of(lines)));
  for (const std::string& sum : sums) {
    if (has(sum)) EDL_TRY(os::touch(this->path(sum)));
  }
  return lock;
}

// With the lock on all: else a use could be written down behind our back.
Result<std::set<std::string>> CacheFolder::sums_in_use() const {
  std::set<std::string> out;
  EDL_TRY(const auto uses, os::list_folder(options_.folder + "/use", kUsesMax));
  for (const os::FolderEntry& use : uses) {
    const std::string path = text(options_.folder, "/use/", use.name);
    if (const auto lock = system_.disk().lock(path); lock.ok()) {
      (void)system_.disk().remove(path);  // its process has ended
      continue;
    }
    EDL_TRY(const Bytes lines, os::read_file(system_.disk(), path, kUseBytesMax));
    for (const std::string_view line : split(text_of(lines), '\n')) out.emplace(line);
  }
  return out;
}

Result<std::vector<CacheFolder::Entry>> CacheFolder::entries() const {
  std::vector<Entry> out;
  const auto add = [&](const std::string& folder, bool is_part) -> Result<void> {
    EDL_TRY(const auto files, os::list_folder(folder, kEntriesMax));
    for (const os::FolderEntry& file : files) {
      if (file.is_folder) continue;
      out.push_back({text(folder, "/", file.name), file.bytes, file.changed, file.name, is_part});
    }
    return {};
  };
  const std::string whole = options_.folder + "/sha256";
  EDL_TRY(const auto folders, os::list_folder(whole, kEntriesMax));
  for (const os::FolderEntry& folder : folders) {
    if (folder.is_folder) EDL_TRY(add(text(whole, "/", folder.name), false));
  }
  EDL_TRY(add(options_.folder + "/part", true));
  std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return out;
}

// False when it has to stay.
Result<bool> CacheFolder::remove(const Entry& entry, const std::set<std::string>& used) const {
  if (used.contains(entry.name) && !entry.is_part) return false;
  std::unique_ptr<os::DiskLock> fetching;
  if (entry.is_part) {
    auto lock = system_.disk().lock(fetch_lock(entry.name));
    if (!lock.ok()) return false;  // it is being fetched
    fetching = std::move(lock).value();
  }
  EDL_TRY(system_.disk().remove(entry.path));
  return true;
}

Result<void> CacheFolder::make_room(std::uint64_t bytes) {
  EDL_TRY(const auto all, lock_all());
  EDL_TRY(const auto files, entries());
  std::uint64_t total = 0;
  for (const Entry& file : files) total += file.bytes;
  if (bytes <= options_.bytes_max && total <= options_.bytes_max - bytes) return {};
  EDL_TRY(const auto used, sums_in_use());
  for (const Entry& file : files) {
    EDL_TRY(const bool is_gone, remove(file, used));
    if (is_gone) total -= file.bytes;
    if (bytes <= options_.bytes_max && total <= options_.bytes_max - bytes) return {};
  }
  return Error{Code::kExhausted,
               text("the cache ", options_.folder, " has no room for ", bytes,
                    " bytes: its limit is ", options_.bytes_max, " (--cache-max), and ", total,
                    " bytes are in use. Raise the limit, or use another --cache")};
}

Result<void> CacheFolder::keep(const std::string& part, const std::string& sha256) {
  const std::string to = path(sha256);
  const std::string folder = os::parent_directory(to);
  EDL_TRY(system_.disk().make_directory(folder));
  EDL_TRY(system_.disk().rename(part, to));
  EDL_TRY(system_.disk().sync_directory(folder));
  return system_.disk().sync_directory(os::parent_directory(folder));
}

Result<std::vector<CachedFile>> CacheFolder::list() const {
  std::vector<CachedFile> out;
  if (!system_.disk().exists(options_.folder + "/use")) return out;
  EDL_TRY(const auto all, lock_all());
  EDL_TRY(const auto files, entries());
  EDL_TRY(const auto used, sums_in_use());
  for (const Entry& file : files) {
    if (!file.is_part) out.push_back({file.name, file.bytes, file.used, used.contains(file.name)});
  }
  return out;
}

Result<std::uint64_t> CacheFolder::clear() {
  std::uint64_t bytes = 0;
  if (!system_.disk().exists(options_.folder + "/use")) return bytes;
  EDL_TRY(const auto all, lock_all());
  EDL_TRY(const auto files, entries());
  EDL_TRY(const auto used, sums_in_use());
  for (const Entry& file : files) {
    EDL_TRY(const bool is_gone, remove(file, used));
    if (is_gone) bytes += file.bytes;
  }
  return bytes;
}

}  // namespace edl::data
