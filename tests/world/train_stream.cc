#include "tests/world/train_stream.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::tests {
namespace {

constexpr Duration kHalf = 2s;  // in which one half of the records comes
constexpr std::uint64_t kPartitionMax = 40;
constexpr std::uint64_t kFileStride = 1'000'000;

std::uint64_t share(std::uint64_t records, Duration of, Duration whole) {
  return records * static_cast<std::uint64_t>(std::clamp(of, Duration::zero(), whole).count()) /
         static_cast<std::uint64_t>(whole.count());
}

}  // namespace

std::uint64_t ToySource::records_of(std::uint64_t file) const {
  return records_ / kFiles + (file < records_ % kFiles ? 1 : 0);
}

std::uint64_t ToySource::there(std::uint64_t file, Duration after) const {
  const std::uint64_t all = records_of(file);
  const std::uint64_t first = all / 2;
  return share(first, after, kHalf) + share(all - first, after - kGapTo, kHalf);
}

std::uint64_t ToySource::identity(const std::string& file, std::uint64_t record) {
  return mix64(static_cast<std::uint64_t>(file.back() - '0') * kFileStride + record);
}

// Any file will do, and any number of records of it.
Result<train::Arrival> ToyStream::look(const data::Partition*) {
  const Duration until = seen_until_();
  std::uint64_t read = 0;
  const std::uint64_t begin = random_.below(ToySource::kFiles);
  for (std::uint64_t i = 0; i < ToySource::kFiles; ++i) {
    const std::uint64_t number = (begin + i) % ToySource::kFiles;
    const std::string file = ToySource::file(number);
    const std::uint64_t from = ends_[file];
    const std::uint64_t there = source_.there(number, until);
    read += from;
    if (there <= from) continue;
    const std::uint64_t count =
        std::min<std::uint64_t>(there - from, 1 + random_.below(kPartitionMax));
    return train::Arrival{.partition = data::Partition{file, from, from + count, 0, count}};
  }
  return train::Arrival{.has_ended = read == source_.records()};
}

Result<void> ToyStream::add(const data::Partition& partition) {
  EDL_TRY(list_.add(partition));
  ends_[partition.file] = partition.to;
  return {};
}

std::uint64_t ToyStream::identity(std::uint64_t number) const {
  const data::Partition& partition = list_.all()[list_.find(number)];
  return ToySource::identity(partition.file, partition.from + number - partition.first);
}

std::string ToyCatalog::add(const std::string& value) {
  const auto entry = train::catalog_entry_from(value);
  if (!entry.ok()) return text("the catalog has ", value, ": ", entry.error().message);
  const data::Partition& partition = entry->partition;
  if (has_ended_) return text("the catalog goes on behind its end with ", value);
  if (partition.first != identities_.size()) {
    return text("the catalog knows ", identities_.size(), " records, and goes on with ", value);
  }
  ++entries_;
  has_ended_ = entry->has_ended;
  if (has_ended_) return "";
  if (std::exchange(ends_[partition.file], partition.to) != partition.from) {
    return text("records of ", partition.file, " are in the catalog twice, or not at all: ", value);
  }
  for (std::uint64_t record = partition.from; record < partition.to; ++record) {
    identities_.push_back(ToySource::identity(partition.file, record));
  }
  return "";
}

std::string ToyCatalog::problem_at_end() const {
  if (!has_ended_) return "the job has ended, and its stream has not";
  if (identities_.size() == source_.records()) return "";
  return text("the catalog has ", identities_.size(), " of ", source_.records(), " records");
}

}  // namespace edl::tests
