// The records of files that are known when a job begins, numbered from 0 on: files by the bytes of
// their names, records as they lie in them. Which record a number is, is arithmetic over the counts
// of the files; nothing of it depends on who asks. Files are mapped, and a fork keeps that.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "edl/data/fetched.h"
#include "edl/data/partition.h"
#include "edl/data/record_index.h"
#include "edl/os/mapped_file.h"

namespace edl::data {

inline constexpr std::size_t kRecordFilesMax = 16'384;

struct Record {
  ConstBytes bytes{};
  Place place{};
};

// Never changes. Asked by any thread.
class RecordFiles {
 public:
  using MakeIndex = std::function<Result<RecordIndex>(const std::string& path, ConstBytes bytes)>;

  // Walks through each file once, unless `make` has its index. Files without records are passed
  // over; no records at all, or a broken one, are refused.
  static Result<RecordFiles> open(const std::vector<std::string>& paths, const RecordFormat& format,
                                  const MakeIndex& make = nullptr);

  std::uint64_t records() const { return list_.records(); }
  const std::vector<Partition>& partitions() const { return list_.all(); }
  // 0 <= `record` < records(). The error names the file and the offset.
  Result<Record> read(std::uint64_t record) const;
  Result<Place> place(std::uint64_t record) const;

 private:
  struct Opened {
    std::shared_ptr<const os::MappedFile> file;
    RecordIndex index;
  };
  explicit RecordFiles(const RecordFormat& format) : format_(format) {}
  Result<void> add(const std::string& path, const MakeIndex& make);
  Result<Frame> frame(std::uint64_t record, std::size_t at) const;

  RecordFormat format_;
  PartitionList list_;
  std::vector<Opened> opened_;  // as `list_`
};

// Files of `folder` whose names fit `pattern` (* and ? as in a shell), without those that begin
// with a dot.
Result<RecordFiles> record_files(const std::string& folder, const std::string& pattern,
                                 const RecordFormat& format);
Result<std::vector<std::string>> record_paths(const std::string& folder,
                                              const std::string& pattern);
Result<RecordFiles> record_files(std::vector<std::string> paths, const RecordFormat& format);
// In the order of the names that they were fetched by, which is the same on each machine.
Result<RecordFiles> record_files(const Fetched& files, const RecordFormat& format);

// Whether a name fits a pattern with * (any letters) and ? (one).
bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace edl::data
