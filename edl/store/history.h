// Every version of every key since the last compaction. Plain state, no I/O.
//
// What always holds: revisions only grow, and each changes at least one key; versions of a key
// are in order (several may have one revision: a transaction can put a key and then delete it); the
// log names every change from the compacted revision on, in order.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edl/store/message.h"

namespace edl::store {

// Where a change stands in the history: the revision, and its number within it.
class Place {
 public:
  static constexpr int kNumberBits = 24;
  static constexpr std::int64_t kNumbersMax = std::int64_t{1} << kNumberBits;

  constexpr Place() = default;
  constexpr explicit Place(std::int64_t value) : value_(value) {}
  constexpr Place(Revision revision, std::int64_t number)
      : value_((revision << kNumberBits) | number) {}

  constexpr std::int64_t value() const { return value_; }
  constexpr Revision revision() const { return value_ >> kNumberBits; }
  auto operator<=>(const Place&) const = default;

 private:
  std::int64_t value_ = 0;
};

struct Version {
  Place place;
  Revision create_revision = 0;
  std::int64_t version = 0;  // 0: here the key was deleted
  LeaseId lease = 0;
  std::string value{};

  bool deleted() const { return version == 0; }
};

// A key and its versions; stays where it is as long as it has any.
using Versions = std::vector<Version>;
using KeyEntry = std::pair<const std::string, Versions>;

// The keys that a request means.
class KeyRange {
 public:
  KeyRange(std::string_view key, std::string_view range_end) : key_(key), end_(range_end) {}

  bool single() const { return end_.empty(); }
  bool open() const { return end_ == std::string_view("\0", 1); }
  std::string_view begin() const { return key_; }
  std::string_view end() const { return end_; }
  bool contains(std::string_view key) const {
    if (single()) return key == key_;
    return key >= key_ && (open() || key < end_);
  }

 private:
  std::string_view key_;
  std::string_view end_;
};

KeyValue key_value(const KeyEntry& entry, const Version& version);

class History {
 public:
  struct Change {
    const KeyEntry* entry = nullptr;
    Place place;
  };
  struct Hit {
    const KeyEntry* entry = nullptr;
    const Version* version = nullptr;
  };

  // Asking.
  Revision revision() const { return revision_; }
  Revision compacted() const { return compacted_; }
  std::size_t key_count() const { return keys_.size(); }
  const Version* find(std::string_view key) const;  // now; null when there is none
  // The keys of the range that existed at `revision`, in order of key.
  std::vector<Hit> range(const KeyRange& range, Revision revision) const;
  // Every key that exists now.
  void each(const std::function<void(const KeyEntry&, const Version&)>& visit) const;
  // All changes from the compacted revision on.
  const std::deque<Change>& log() const { return log_; }
  // Of the log, those from `place` on.
  std::deque<Change>::const_iterator log_from(Place place) const;
  const Version& at(const Change& change) const;
  // What the key had before this change; null when it did not exist, or that is compacted.
  const Version* before(const Change& change) const;

  // Changing. All between `begin` and the next one have one revision.
  void begin() { next_number_ = 0; }
  const Version& put(std::string_view key, std::string value, LeaseId lease);
  // The key exists.
  void remove(std::string_view key);
  // Forgets what was replaced at or before `revision`; answers which places are gone. What the
  // newest revision changed is never among them, so that loading finds the revision again.
  std::vector<Place> compact(Revision revision);

  // Loading, in order of place; then `compact` once more, for what was not forgotten to its end.
  void load(std::string key, Version version);

 private:
  using Keys = std::map<std::string, Versions, std::less<>>;

  Place next_place();
  const Version& add(Keys::iterator at, Version version);
  void forget(Versions& versions, Place place, std::vector<Place>& gone) const;

  Keys keys_;
  std::deque<Change> log_;
  Revision revision_ = 1;    // as etcd: an empty store has seen revision 1
  Revision compacted_ = -1;  // never
  std::int64_t next_number_ = 0;
};

}  // namespace edl::store
