// Where the records of a range of a file lie: the offset of every 64th one, so that each is found
// by walking over 63 others at most. Made by one walk through the range.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "edl/data/record_format.h"

namespace edl::data {

struct IndexLimits {
  std::uint64_t records_max = std::numeric_limits<std::uint64_t>::max();
  // The range ends with the first record that reaches this.
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
};

class RecordIndex {
 public:
  static constexpr std::uint64_t kEvery = 64;

  // From `from` on as far as there are whole records, within the limits.
  static Result<RecordIndex> scan(ConstBytes file, std::uint64_t from, const RecordFormat& format,
                                  Ending ending, const IndexLimits& limits = {});
  // As it was kept somewhere; kCorrupt when that cannot be an index of [from, to).
  static Result<RecordIndex> make(std::uint64_t from, std::uint64_t to, std::uint64_t count,
                                  std::vector<std::uint64_t> starts);

  std::uint64_t from() const { return from_; }
  std::uint64_t to() const { return to_; }
  std::uint64_t count() const { return count_; }
  const std::vector<std::uint64_t>& starts() const { return starts_; }

  // Record i of the range, i < count(), where the file's bytes still are as they were.
  Result<Frame> frame(ConstBytes file, std::uint64_t i, const RecordFormat& format) const;

 private:
  std::uint64_t from_ = 0;
  std::uint64_t to_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> starts_;  // of records 0, kEvery, 2 kEvery ...; none for kFixed
};

}  // namespace edl::data
