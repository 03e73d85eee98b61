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

bool filters(const RangeRequest& request) {
  return request.min_mod_revision != 0 || request.max_mod_revision != 0 ||
         request.min_create_revision != 0 || request.max_create_revision != 0;
}

void sort(std::vector<History::Hit>& hits, const RangeRequest& request) {
  const bool plain = request.sort_target == SortTarget::kKey;
  if (request.sort_order > SortOrder::kDescend) return;  // a number without a name
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
  // Without an order etcd takes the first ones by key, and sorts only those by the target.
  const bool limited = request.limit > 0;
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(request.limit, 0));
  const bool early = limited && request.sort_order == SortOrder::kNone && !filters(request);
  if (early && hits.size() > limit + 1) hits.resize(limit + 1);
  sort(hits, request);
  if (limited && hits.size() > limit) {
    hits.resize(limit);
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
