#include "edl/store/history.h"

#include <algorithm>

#include "edl/base/check.h"

namespace edl::store {
namespace {

// The newest version at or before `revision`; null when there is none.
const Version* version_at(const Versions& versions, Revision revision) {
  const auto after = std::upper_bound(
      versions.begin(), versions.end(), revision,
      [](Revision wanted, const Version& version) { return wanted < version.place.revision(); });
  return after == versions.begin() ? nullptr : &*std::prev(after);
}

const Version* alive_at(const Versions& versions, Revision revision) {
  const Version* version = version_at(versions, revision);
  return version == nullptr || version->deleted() ? nullptr : version;
}

}  // namespace

KeyValue key_value(const KeyEntry& entry, const Version& version) {
  return {.key = entry.first,
          .create_revision = version.create_revision,
          .mod_revision = version.place.revision(),
          .version = version.version,
          .value = version.value,
          .lease = version.lease};
}

const Version* History::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : alive_at(found->second, revision_);
}

std::vector<History::Hit> History::range(const KeyRange& range, Revision revision) const {
  std::vector<Hit> hits;
  const auto last = range.open() ? keys_.end() : keys_.lower_bound(range.end());
  auto at = range.single() ? keys_.find(range.begin()) : keys_.lower_bound(range.begin());
  if (!range.single() && !range.open() && range.end() <= range.begin()) return hits;
  while (at != (range.single() ? keys_.end() : last)) {
    const Version* version = alive_at(at->second, revision);
    if (version != nullptr) hits.push_back({&*at, version});
    if (range.single()) break;
    ++at;
  }
  return hits;
}

void History::each(const std::function<void(const KeyEntry&, const Version&)>& visit) const {
  for (const KeyEntry& entry : keys_) {
    if (!entry.second.back().deleted()) visit(entry, entry.second.back());
  }
}

std::deque<History::Change>::const_iterator History::log_from(Place place) const {
  return std::lower_bound(log_.begin(), log_.end(), place,
                          [](const Change& change, Place wanted) { return change.place < wanted; });
}

const Version& History::at(const Change& change) const {
  const Versions& versions = change.entry->second;
  const auto found =
      std::lower_bound(versions.begin(), versions.end(), change.place,
                       [](const Version& version, Place wanted) { return version.place < wanted; });
  EDL_CHECK(found != versions.end() && found->place == change.place);
  return *found;
}

const Version* History::before(const Change& change) const {
  return alive_at(change.entry->second, change.place.revision() - 1);
}

// The first change after `begin` makes the revision.
Place History::next_place() {
  if (next_number_ == 0) ++revision_;
  EDL_CHECK(next_number_ < Place::kNumbersMax);
  return {revision_, next_number_++};
}

const Version& History::add(Keys::iterator at, Version version) {
  const Place place = version.place;
  EDL_CHECK(at->second.empty() || at->second.back().place < place);
  at->second.push_back(std::move(version));
  log_.push_back({&*at, place});
  return at->second.back();
}

const Version& History::put(std::string_view key, std::string value, LeaseId lease) {
  auto at = keys_.lower_bound(key);
  if (at == keys_.end() || at->first != key) at = keys_.emplace_hint(at, key, Versions());
  const Place place = next_place();
  Version version{.place = place,
                  .create_revision = place.revision(),
                  .version = 1,
                  .lease = lease,
                  .value = std::move(value)};
  if (!at->second.empty() && !at->second.back().deleted()) {
    version.create_revision = at->second.back().create_revision;
    version.version = at->second.back().version + 1;
  }
  return add(at, std::move(version));
}

void History::remove(std::string_view key) {
  const auto at = keys_.find(key);
  EDL_CHECK(at != keys_.end() && !at->second.back().deleted());
  add(at, Version{.place = next_place()});
}

std::vector<Place> History::compact(Revision revision) {
  compacted_ = revision;
  std::vector<Place> gone;
  for (const Change& change : log_) {
    if (change.place.revision() > revision) break;
    const auto at = keys_.find(change.entry->first);
    forget(at->second, change.place, gone);
    if (at->second.empty()) keys_.erase(at);
  }
  while (!log_.empty() && log_.front().place.revision() < revision) log_.pop_front();
  return gone;
}

// Forgets what the change at `place` replaced, and the change itself when it deleted the key
// before the compacted revision. What happened in that revision itself, a watch may still ask for.
void History::forget(Versions& versions, Place place, std::vector<Place>& gone) const {
  auto keep = versions.begin();
  while (keep->place < place && keep->place.revision() < compacted_) ++keep;
  if (keep->place == place && keep->deleted() && place.revision() < compacted_) ++keep;
  for (auto version = versions.begin(); version != keep; ++version) gone.push_back(version->place);
  versions.erase(versions.begin(), keep);
}

void History::load(std::string key, Version version) {
  revision_ = std::max(revision_, version.place.revision());
  auto at = keys_.lower_bound(key);
  if (at == keys_.end() || at->first != key) {
    at = keys_.emplace_hint(at, std::move(key), Versions());
  }
  const Place place = version.place;
  at->second.push_back(std::move(version));
  log_.push_back({&*at, place});
}

}  // namespace edl::store
