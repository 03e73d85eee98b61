#include "edl/store/range.h"

#include <algorithm>

namespace edl::store {
namespace {

bool passes(const Version& version, const RangeRequest& request) {
  const Revision mod = version.place.revision();
  const Revision create = version.create_revision;
  return (request.max_mod_revision == 0 || mod <= request.max_mod_revision) &&
         (request.min_mod_revision == 0 || mod >= request.min_mod_revision) &&
         (request.max_create_revision == 0 || create <= request.max_create_revision) &&
         (request.min_create_revision == 0 || create >= request.min_create_revision);
}

bool less(const History::Hit& a, const History::Hit& b, SortTarget target) {
  switch (target) {
    case SortTarget::kVersion:
      return a.version->version < b.version->version;
    case SortTarget::kCreate:
      return a.version->create_revision < b.version->create_revision;
    case SortTarget::kMod:
      return a.version->place < b.version->place;
    case SortTarget::kValue:
      return a.version->value < b.version->value;
    default:
      return a.entry->first < b.entry->first;
  }
}

void sort(std::vector<History::Hit>& hits, const RangeRequest& request) {
  const bool plain = request.sort_target == SortTarget::kKey;
  if (request.sort_order == SortOrder::kDescend) {
    std::stable_sort(hits.begin(), hits.end(),
                     [&](const auto& a, const auto& b) { return less(b, a, request.sort_target); });
  } else if (!plain) {  // keys are in order already
    std::stable_sort(hits.begin(), hits.end(),
                     [&](const auto& a, const auto& b) { return less(a, b, request.sort_target); });
  }
}

}  // namespace

RangeResponse read_range(const History& history, const RangeRequest& request) {
  const Revision revision = request.revision > 0 ? request.revision : history.revision();
  auto hits = history.range({request.key, request.range_end}, revision);
  RangeResponse response;
  response.count = static_cast<std::int64_t>(hits.size());
  if (request.count_only) return response;
  std::erase_if(hits, [&](const History::Hit& hit) { return !passes(*hit.version, request); });
  sort(hits, request);
  if (request.limit > 0 && hits.size() > static_cast<std::size_t>(request.limit)) {
    hits.resize(static_cast<std::size_t>(request.limit));
    response.more = true;
  }
  response.kvs.reserve(hits.size());
  for (const History::Hit& hit : hits) {
    response.kvs.push_back(key_value(*hit.entry, *hit.version));
    if (request.keys_only) response.kvs.back().value.clear();
  }
  return response;
}

}  // namespace edl::store
