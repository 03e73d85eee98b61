// Which records of a stream have which numbers: agreed by the workers of a job once and for ever.
// Entry n is the key `stream/NNNNNNNN` of the job, put by whoever needs it first and changed by
// nobody; who comes second takes what stands there. So each worker, also one that begins to lead,
// knows the same records by the same numbers, whoever of them has died.
//
// On the loop's thread; the stream is asked in the executor.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "edl/model/position.h"
#include "edl/store/store.h"
#include "edl/train/executor.h"
#include "edl/train/stream.h"

namespace edl::train {

// Entry n: a partition, or the end of the stream behind `first` records.
struct CatalogEntry {
  data::Partition partition{};
  bool has_ended = false;
};
std::string catalog_value(const CatalogEntry& entry);
Result<CatalogEntry> catalog_entry_from(std::string_view value);
// "stream/00000007", and back; nothing when the name is another key's.
std::string catalog_name(std::uint64_t number);
std::optional<std::uint64_t> catalog_number(std::string_view name);

class Catalog {
 public:
  struct Events {
    // More is known now, after it was told to the stream.
    std::function<void()> grown;
    std::function<void(const Error&)> failed;
  };
  // `prefix`: of the job's keys.
  Catalog(os::System& system, store::Store& store, Executor& executor, Stream& stream,
          std::string prefix, Events events);

  const model::StreamExtent& extent() const { return extent_; }

  // A key of the job, as the store tells of it.
  void on_key(const std::string& name, const std::string& value);
  // So many records are needed. Looks for them until they are there, or the end.
  void want(std::uint64_t records);
  // Nothing is needed for now.
  void rest() { wanted_ = 0; }

 private:
  bool is_wanted() const { return !extent_.has_ended && extent_.records < wanted_; }
  void look();
  void look_later();
  void propose(const Arrival& found);
  void take(std::uint64_t number, const std::string& value);
  void append(const CatalogEntry& entry);
  void fail(const Error& error);

  os::System& system_;
  store::Store& store_;
  Executor& executor_;
  Stream& stream_;
  const std::string prefix_;
  const Events events_;
  std::uint64_t entries_ = 0;
  std::map<std::uint64_t, CatalogEntry> early_;  // that came before the one that they follow
  std::optional<data::Partition> last_;
  model::StreamExtent extent_;
  std::uint64_t wanted_ = 0;
  bool looking_ = false;  // or proposing, or about to look again
  bool failed_ = false;
  os::Pending timer_;
  os::Pending proposing_;
};

}  // namespace edl::train
