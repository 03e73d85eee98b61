// A folder into which files of records come, and in which they grow: the source of a stream. Files
// are read in the order of their names; one is whole once there is a file with a later name, or the
// mark of the end. What is read next follows from the last partition alone, so that any worker can
// go on where another one was. Partitions name files as they are called in the folder, which may
// lie elsewhere on another machine.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "edl/data/record_files.h"
#include "edl/os/folder.h"

namespace edl::data {

struct StreamOptions {
  std::string pattern = "*";
  RecordFormat format{};
  std::string end_file = "END";  // a file of this name says that nothing more comes
  // Of a partition; the store keeps one entry for each.
  IndexLimits partition{.records_max = 65'536, .bytes_max = std::uint64_t{64} << 20};
};

// By one thread.
class StreamFolder {
 public:
  StreamFolder(std::string folder, StreamOptions options);

  struct Found {
    std::optional<Partition> partition{};  // without the numbers of its records
    bool has_ended = false;
  };
  // What has come behind `last`, null at first. A file that comes too late, or is cut off, is
  // refused with its name.
  Result<Found> look(const Partition* last);

  // This partition follows those before it.
  Result<void> add(const Partition& partition);
  std::uint64_t records() const { return list_.records(); }
  // The bytes are there until the next call.
  Result<Record> read(std::uint64_t record);

 private:
  static constexpr std::size_t kIndexedMax = 8;
  struct Indexed {
    std::size_t at = 0;  // the place of its partition
    std::shared_ptr<const os::MappedFile> file;
    RecordIndex index;
  };
  // The files that fit, and whether the mark of the end is there.
  struct Listing {
    std::vector<os::FolderEntry> files{};
    bool has_end = false;
  };
  Result<Listing> list() const;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Result<std::optional<Partition>> scan(const std::string& name, std::uint64_t from,
                                        Ending ending) const;
  // Of files with names before `last`, which nobody will look at again.
  Result<void> refuse_late(const Listing& listing, const std::string& last) const;
  Result<const Indexed*> indexed(std::size_t at);

  const std::string folder_;
  const StreamOptions options_;
  PartitionList list_;
  std::map<std::string, std::uint64_t> ends_;  // names that were read, and how far
  std::deque<Indexed> indexed_;                // used last, first
};

}  // namespace edl::data
