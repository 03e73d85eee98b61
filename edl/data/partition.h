// A range of a file with whole records in it, and the numbers of these records: what a data set of
// files, and a stream, is made of. Plain state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"

namespace edl::data {

// Records `first` to `first` + `count` are bytes [from, to) of `file`.
struct Partition {
  std::string file{};
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  std::uint64_t end() const { return first + count; }
  bool operator==(const Partition&) const = default;
};
void to_json(Json& json, const Partition& partition);
Result<Partition> partition_from(const Json& json);

// Where records lie: bytes [from, to) of a file.
struct Place {
  std::string file{};
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool operator==(const Place&) const = default;
};
void to_json(Json& json, const Place& place);
Result<Place> place_from(const Json& json);
// Adds a place; one that goes on where the last one ends makes that one longer.
void add_place(std::vector<Place>& places, Place place);

// Partitions whose records have the numbers from 0 on, without a hole.
class PartitionList {
 public:
  // kConflict when its records do not follow those that are there.
  Result<void> add(const Partition& partition);
  const std::vector<Partition>& all() const { return all_; }
  std::uint64_t records() const { return all_.empty() ? 0 : all_.back().end(); }
  // The place in `all` of the one that holds this record, which is one of `records`.
  std::size_t find(std::uint64_t record) const;

 private:
  std::vector<Partition> all_;
};

}  // namespace edl::data
