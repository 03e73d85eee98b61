#include "edl/data/partition.h"

#include <algorithm>

#include "edl/base/check.h"
#include "edl/base/text.h"
#include "edl/model/fields.h"
#include "edl/model/limits.h"

namespace edl::data {

void to_json(Json& json, const Partition& partition) {
  json = Json{{"file", partition.file},
              {"from", partition.from},
              {"to", partition.to},
              {"first", partition.first},
              {"count", partition.count}};
}

Result<Partition> partition_from(const Json& json) {
  JsonReader in(json, "partition");
  Partition partition;
  in.read("file", partition.file);
  in.read("from", partition.from);
  in.read("to", partition.to);
  in.read("first", partition.first);
  in.read("count", partition.count);
  EDL_TRY(in.finish());
  const bool is_range = partition.from < partition.to && partition.count > 0;
  if (is_range && partition.first <= model::kSamplesMax && partition.count <= model::kSamplesMax) {
    return partition;
  }
  return Error{Code::kInvalid,
               text("partition: bytes ", partition.from, " to ", partition.to, " with ",
                    partition.count, " records from ", partition.first, " on are no partition")};
}

void to_json(Json& json, const Place& place) {
  json = Json{{"file", place.file}, {"from", place.from}, {"to", place.to}};
}

Result<Place> place_from(const Json& json) {
  JsonReader in(json, "place");
  Place place;
  in.read("file", place.file);
  in.read("from", place.from);
  in.read("to", place.to);
  EDL_TRY(in.finish());
  return place;
}

void add_place(std::vector<Place>& places, Place place) {
  if (!places.empty() && places.back().file == place.file && places.back().to == place.from) {
    places.back().to = place.to;
  } else {
    places.push_back(std::move(place));
  }
}

Result<void> PartitionList::add(const Partition& partition) {
  if (partition.first != records()) {
    return Error{Code::kConflict,
                 text("the partition of ", partition.file, " begins with record ", partition.first,
                      ", but ", records(), " are known before it")};
  }
  all_.push_back(partition);
  return {};
}

std::size_t PartitionList::find(std::uint64_t record) const {
  EDL_CHECK(record < records());
  const auto behind = std::upper_bound(
      all_.begin(), all_.end(), record,
      [](std::uint64_t number, const Partition& one) { return number < one.first; });
  return static_cast<std::size_t>(behind - all_.begin()) - 1;
}

}  // namespace edl::data
