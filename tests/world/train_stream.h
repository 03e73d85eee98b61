// A stream in the virtual world: a few files that grow with time and are seen late by some, read
// in an order that each worker would choose differently; and the catalog as the store has it, with
// what must hold for it. Plain state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "edl/base/random.h"
#include "edl/base/time.h"
#include "edl/train/catalog.h"

namespace edl::tests {

// What there is to read, by time: records come, then nothing for a while, then the rest.
class ToySource {
 public:
  static constexpr std::uint64_t kFiles = 3;
  static constexpr Duration kGapFrom = 2s;
  static constexpr Duration kGapTo = 5s;

  explicit ToySource(std::uint64_t records) : records_(records) {}

  std::uint64_t records() const { return records_; }
  static std::string file(std::uint64_t number) { return text("file", number); }
  std::uint64_t records_of(std::uint64_t file) const;
  // How many of them are there after so long.
  std::uint64_t there(std::uint64_t file, Duration after) const;
  // What a record is, wherever it stands in the catalog.
  static std::uint64_t identity(const std::string& file, std::uint64_t record);

 private:
  std::uint64_t records_;
};

// As one worker sees it.
class ToyStream final : public train::Stream {
 public:
  ToyStream(const ToySource& source, std::function<Duration()> seen_until, Random random)
      : source_(source), seen_until_(std::move(seen_until)), random_(random) {}

  Result<train::Arrival> look(const data::Partition* last) override;
  Result<void> add(const data::Partition& partition) override;
  // What this worker takes record `number` for.
  std::uint64_t identity(std::uint64_t number) const;

 private:
  const ToySource source_;
  std::function<Duration()> seen_until_;
  Random random_;
  data::PartitionList list_;
  std::map<std::string, std::uint64_t> ends_;
};

// As the store has it.
class ToyCatalog {
 public:
  explicit ToyCatalog(const ToySource& source) : source_(source) {}

  std::uint64_t entries() const { return entries_; }
  // Entry n = entries(). What does not hold, else empty.
  std::string add(const std::string& value);
  // What does not hold once the job has ended.
  std::string problem_at_end() const;
  std::uint64_t identity(std::uint64_t number) const { return identities_.at(number); }

 private:
  const ToySource source_;
  std::uint64_t entries_ = 0;
  std::vector<std::uint64_t> identities_;  // by number
  std::map<std::string, std::uint64_t> ends_;
  bool has_ended_ = false;
};

}  // namespace edl::tests
