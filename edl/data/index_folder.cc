#include "edl/data/index_folder.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "edl/base/sha256.h"
#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::uint64_t kMagic = 0x3158444E494C4445;  // "EDLINDX1"
constexpr std::size_t kHead = 9;                      // numbers before the starts
constexpr std::size_t kSumBytes = 4;
constexpr std::uint64_t kIndexBytesMax = std::uint64_t{1} << 30;

std::vector<std::uint64_t> head_of(const IndexedFile& file) {
  return {kMagic,
          file.bytes,
          static_cast<std::uint64_t>(file.changed),
          static_cast<std::uint64_t>(file.format.kind),
          file.format.record_bytes,
          file.format.record_bytes_max};
}

std::string index_name(const IndexedFile& file) {
  Sha256 sum;
  sum.add(bytes_of(text(file.path, "\n", static_cast<int>(file.format.kind), "\n",
                        file.format.record_bytes, "\n", file.format.record_bytes_max)));
  return sum.finish();
}

// Sizes and times of the files of a folder, by path.
Result<std::map<std::string, IndexedFile>> facts_of(const std::string& folder,
                                                    const RecordFormat& format) {
  EDL_TRY(const auto entries, os::list_folder(folder, kRecordFilesMax));
  std::map<std::string, IndexedFile> files;
  for (const os::FolderEntry& entry : entries) {
    const std::string path = text(folder, "/", entry.name);
    files[path] = {path, entry.bytes, entry.changed.time_since_epoch().count(), format};
  }
  return files;
}

// A cache that cannot be read or written costs time and nothing else.
Result<RecordIndex> kept_or_made(os::Disk& disk, const std::string& folder, const IndexedFile& file,
                                 ConstBytes bytes) {
  const std::string path = text(folder, "/", index_name(file));
  if (file.bytes == bytes.size()) {
    const auto kept = os::read_file(disk, path, kIndexBytesMax);
    if (kept.ok()) {
      if (auto index = index_from(file, *kept)) return std::move(*index);
    }
  }
  EDL_TRY(RecordIndex index, RecordIndex::scan(bytes, 0, file.format, Ending::kWhole));
  const bool is_worth_it = file.format.kind != RecordKind::kFixed && file.bytes == bytes.size();
  if (is_worth_it && disk.make_directory(folder).ok()) {
    (void)os::replace_file(disk, path, index_bytes(file, index));
  }
  return index;
}

}  // namespace

Bytes index_bytes(const IndexedFile& file, const RecordIndex& index) {
  std::vector<std::uint64_t> numbers = head_of(file);
  numbers.insert(numbers.end(), {index.count(), index.to(), index.starts().size()});
  numbers.insert(numbers.end(), index.starts().begin(), index.starts().end());
  Bytes out = copy_bytes(std::as_bytes(std::span(numbers)));
  out.resize(out.size() + kSumBytes);
  store_int(out.data() + out.size() - kSumBytes,
            crc32c(ConstBytes(out).first(out.size() - kSumBytes)));
  return out;
}

std::optional<RecordIndex> index_from(const IndexedFile& file, ConstBytes bytes) {
  if (bytes.size() < kHead * 8 + kSumBytes || bytes.size() % 8 != kSumBytes) return std::nullopt;
  const ConstBytes body = bytes.first(bytes.size() - kSumBytes);
  if (load_int<std::uint32_t>(body.data() + body.size()) != crc32c(body)) return std::nullopt;
  std::vector<std::uint64_t> numbers(body.size() / 8);
  std::memcpy(numbers.data(), body.data(), body.size());
  const std::vector<std::uint64_t> head = head_of(file);
  if (!std::equal(head.begin(), head.end(), numbers.begin())) return std::nullopt;
  const std::uint64_t count = numbers[6];
  const std::uint64_t to = numbers[7];
  std::vector<std::uint64_t> starts(numbers.begin() + kHead, numbers.end());
  const bool has_starts = !starts.empty() || count == 0;
  if (numbers[8] != starts.size() || !has_starts || to > file.bytes) return std::nullopt;
  auto index = RecordIndex::make(0, to, count, std::move(starts));
  if (!index.ok()) return std::nullopt;
  return std::move(index).value();
}

Result<RecordFiles> record_files(const Cache& cache, const std::string& folder,
                                 const std::string& pattern, const RecordFormat& format) {
  // First what the files are like, then their bytes: one that changes in between is walked through.
  EDL_TRY(const auto facts, facts_of(folder, format));
  EDL_TRY(const std::vector<std::string> paths, record_paths(folder, pattern));
  const auto system = cache.make_system();
  const std::string kept = text(cache.folder(), "/index");
  return RecordFiles::open(paths, format, [&](const std::string& path, ConstBytes bytes) {
    const auto found = facts.find(path);
    if (found == facts.end()) return RecordIndex::scan(bytes, 0, format, Ending::kWhole);
    return kept_or_made(system->disk(), kept, found->second, bytes);
  });
}

}  // namespace edl::data
