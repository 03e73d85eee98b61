// The watches of one stream. A watch is a place in the history from which it reads on, so a slow
// reader costs nothing but its place; when history is compacted past it, the watch ends and says
// so. Plain state, no I/O.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edl/store/core.h"
#include "edl/store/stream_message.h"

namespace edl::store {

struct WatchLimits {
  std::size_t watches_max = 10'000;
  std::int64_t fragment_bytes = 2 << 20;  // as etcd counts; cut before, for those who asked
  std::size_t response_bytes = 1 << 20;   // beyond it no further revision is added
  Revision revisions_max = 1000;          // told in one response
};

class Watches {
 public:
  explicit Watches(WatchLimits limits = {}) : limits_(limits) {}

  std::vector<WatchResponse> on_request(const WatchRequest& request, const StoreCore& core);
  // What happened since, about `bytes_max` of it at most; nothing when all is told.
  std::vector<WatchResponse> poll(const StoreCore& core, std::size_t bytes_max);
  // For the watches that asked to hear when nothing happens.
  std::vector<WatchResponse> progress(const StoreCore& core) const;

  bool empty() const { return watches_.empty(); }

 private:
  struct Watch {
    std::string key;
    std::string range_end;
    Place next;  // of the first change that it was not told
    bool puts = false;
    bool deletes = false;
    bool prev_kv = false;
    bool progress = false;
    bool fragment = false;
  };

  WatchResponse create(const WatchCreateRequest& request, const StoreCore& core);
  std::optional<WatchResponse> cancel(const WatchCancelRequest& request, const StoreCore& core);
  // Reads on in the history; adds to `bytes` what it answers. Nothing when all is told, or when
  // nothing of it concerns the watch.
  std::optional<WatchResponse> read(WatchId id, Watch& watch, const StoreCore& core,
                                    std::size_t& bytes) const;

  const WatchLimits limits_;
  std::map<WatchId, Watch> watches_;
  WatchId next_id_ = 0;
  bool progress_wanted_ = false;
};

}  // namespace edl::store
