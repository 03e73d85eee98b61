#include "edl/store/watches.h"

#include <algorithm>

#include "edl/store/request_check.h"

namespace edl::store {
namespace {

constexpr std::string_view kZero("\0", 1);
constexpr std::int64_t kEventAround = 4;  // tag and length of an event in a response

bool filters(const WatchCreateRequest& request, WatchFilter filter) {
  return std::find(request.filters.begin(), request.filters.end(), filter) != request.filters.end();
}

std::size_t event_bytes(const Event& event) {
  constexpr std::size_t kAround = 64;
  const std::size_t before =
      event.prev_kv ? event.prev_kv->key.size() + event.prev_kv->value.size() : 0;
  return kAround + event.kv.key.size() + event.kv.value.size() + before;
}

Event make_event(const History& history, const History::Change& change, bool prev_kv) {
  const Version& version = history.at(change);
  Event event{.type = version.deleted() ? EventType::kDelete : EventType::kPut,
              .kv = key_value(*change.entry, version)};
  const Version* before = prev_kv ? history.before(change) : nullptr;
  if (before != nullptr) event.prev_kv = key_value(*change.entry, *before);
  return event;
}

WatchResponse refused(const StoreCore& core, std::string reason) {
  return {.header = core.header(),
          .watch_id = -1,
          .created = true,
          .canceled = true,
          .cancel_reason = std::move(reason)};
}

}  // namespace

std::vector<WatchResponse> Watches::on_request(const WatchRequest& request, const StoreCore& core) {
  std::vector<WatchResponse> out;
  if (request.create_request) {
    out.push_back(create(*request.create_request, core));
  } else if (request.cancel_request) {
    if (auto response = cancel(*request.cancel_request, core)) out.push_back(*response);
  } else if (request.progress_request) {
    progress_wanted_ = true;  // told by `poll`, after everything that happened before
  }
  return out;
}

WatchResponse Watches::create(const WatchCreateRequest& request, const StoreCore& core) {
  std::string key = request.key.empty() ? std::string(kZero) : request.key;
  const KeyRange range(key, request.range_end);
  if (!range.single() && !range.open() && range.end() <= range.begin()) {
    return refused(core, "mvcc: watcher range is empty");
  }
  if (watches_.size() >= limits_.watches_max) {
    return refused(core, "edl: too many watches on one stream");
  }
  WatchId id = request.watch_id;
  if (id == 0) {
    while (watches_.contains(next_id_)) ++next_id_;
    id = next_id_++;
  } else if (watches_.contains(id)) {
    return refused(core, "mvcc: duplicate watch ID provided on the WatchStream");
  }
  const Revision now = core.history().revision();
  watches_[id] = {.key = std::move(key),
                  .range_end = request.range_end,
                  .next = Place(request.start_revision == 0 ? now + 1 : request.start_revision, 0),
                  .puts = !filters(request, WatchFilter::kNoPut),
                  .deletes = !filters(request, WatchFilter::kNoDelete),
                  .prev_kv = request.prev_kv,
                  .progress = request.progress_notify,
                  .fragment = request.fragment};
  return {.header = core.header(), .watch_id = id, .created = true};
}

std::optional<WatchResponse> Watches::cancel(const WatchCancelRequest& request,
                                             const StoreCore& core) {
  if (watches_.erase(request.watch_id) == 0) return std::nullopt;
  return WatchResponse{.header = core.header(), .watch_id = request.watch_id, .canceled = true};
}

std::vector<WatchResponse> Watches::poll(const StoreCore& core, std::size_t bytes_max) {
  std::vector<WatchResponse> out;
  std::size_t bytes = 0;
  bool all_told = true;
  for (auto at = watches_.begin(); at != watches_.end();) {
    const auto here = at++;
    Watch& watch = here->second;
    if (watch.next.revision() > core.history().revision()) continue;
    if (bytes >= bytes_max) {
      all_told = false;
      break;
    }
    if (watch.next.revision() < core.history().compacted()) {
      Header header = core.header();
      header.revision = 0;  // etcd leaves it out here
      out.push_back({.header = header,
                     .watch_id = here->first,
                     .canceled = true,
                     .compact_revision = core.history().compacted()});
      watches_.erase(here);
      continue;
    }
    if (auto response = read(here->first, watch, core, bytes)) out.push_back(std::move(*response));
    all_told = all_told && watch.next.revision() > core.history().revision();
  }
  if (progress_wanted_ && all_told) {
    progress_wanted_ = false;
    out.push_back({.header = core.header(), .watch_id = -1});
  }
  return out;
}

std::optional<WatchResponse> Watches::read(WatchId id, Watch& watch, const StoreCore& core,
                                           std::size_t& bytes) const {
  const History& history = core.history();
  const KeyRange range(watch.key, watch.range_end);
  WatchResponse response{.header = core.header(), .watch_id = id};
  std::int64_t measured = message_bytes(response);
  std::size_t size = 0;
  Revision revisions = 0;
  Revision seen = 0;  // the last one that is told here
  auto change = history.log_from(watch.next);
  for (; change != history.log().end(); ++change) {
    const Revision revision = change->place.revision();
    // A response ends only between two revisions, unless it says that more of one follows.
    const bool full =
        revisions == limits_.revisions_max || (!watch.fragment && size >= limits_.response_bytes);
    if (revision > seen && full) break;
    const bool deleted = history.at(*change).deleted();
    if (!(deleted ? watch.deletes : watch.puts)) continue;
    if (!range.contains(change->entry->first)) continue;
    Event event = make_event(history, *change, watch.prev_kv);
    if (watch.fragment) measured += message_bytes(event) + kEventAround;
    if (!response.events.empty() && measured >= limits_.fragment_bytes) {
      response.fragment = true;
      break;
    }
    revisions += revision > seen ? 1 : 0;
    seen = revision;
    size += event_bytes(event);
    response.events.push_back(std::move(event));
  }
  bytes += size;
  watch.next = change == history.log().end() ? Place(history.revision() + 1, 0) : change->place;
  if (response.events.empty()) return std::nullopt;
  return response;
}

std::vector<WatchResponse> Watches::progress(const StoreCore& core) const {
  std::vector<WatchResponse> out;
  for (const auto& [id, watch] : watches_) {
    if (!watch.progress || watch.next.revision() <= core.history().revision()) continue;
    out.push_back({.header = core.header(), .watch_id = id});
  }
  return out;
}

}  // namespace edl::store
