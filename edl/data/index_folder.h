// Indexes of files of records, kept in the node's cache, so that a file is walked through once and
// not at each start of a job. An index counts as long as its file has the same size and was not
// changed since; whatever else is wrong with it, the file is walked through again.
//   index/SUM  where SUM is the SHA-256 of the file's path and of the format
#pragma once

#include "edl/data/cache.h"
#include "edl/data/record_files.h"
#include "edl/os/folder.h"

namespace edl::data {

// What an index was made of.
struct IndexedFile {
  std::string path{};
  std::uint64_t bytes = 0;
  std::int64_t changed = 0;  // the time of the last change, in units of the wall clock
  RecordFormat format{};
};

// As it lies on the disk (docs/reference/streams.md), and back; nothing when it is of another file
// or damaged.
Bytes index_bytes(const IndexedFile& file, const RecordIndex& index);
std::optional<RecordIndex> index_from(const IndexedFile& file, ConstBytes bytes);

// As record_files of a folder, with indexes in the cache.
Result<RecordFiles> record_files(const Cache& cache, const std::string& folder,
                                 const std::string& pattern, const RecordFormat& format);

}  // namespace edl::data
