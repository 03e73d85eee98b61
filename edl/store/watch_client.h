// All watches of a process on one stream. When the stream breaks, is silent for too long or gets
// another watch, a new one is opened from where each watch stands: nothing is missed, nothing told
// twice. Only a compaction past a watch's place ends it.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "edl/store/client.h"
#include "edl/store/json_scanner.h"

namespace edl::store {

// Changes in order; `revision` is how far the watch has come.
struct WatchBatch {
  Revision revision = 0;
  std::vector<Event> events{};
};

// kNotFound: what it asked for is compacted. kConflict: the store was replaced. kInvalid: refused.
// After an error nothing more comes.
using OnWatch = std::function<void(Result<WatchBatch>)>;

struct WatchOptions {
  Duration silence_max = 15s;  // then the stream is taken for dead; the embedded store speaks up
  Duration head_limit = 5s;
  // Told when the store cannot be reached again (why), and when it is back.
  std::function<void(const Result<void>&)> on_state{};
};

class WatchClient {
 public:
  explicit WatchClient(Client& client, WatchOptions options = {});
  ~WatchClient();

  // Until the Pending is destroyed.
  [[nodiscard]] os::Pending watch(const WatchCreateRequest& request, OnWatch on_watch);

  std::uint64_t streams_opened() const { return opened_; }

 private:
  class Subscription;
  struct Watch {
    WatchCreateRequest request;  // `start_revision` is its place; 0 until it is known
    OnWatch on_watch;
  };

  void open_soon(Duration pause);
  void open();
  void on_piece(std::string_view piece);
  void on_line(const std::string& line);
  void on_response(const WatchResponse& response);
  void end(WatchId id, const Error& error);
  void end_all(const Error& error);
  void on_broken(const Error& error);
  void on_refused(int status);
  void watch_silence();
  void doubt(const http::Url& endpoint, Time since);

  Client& client_;
  const WatchOptions options_;
  std::map<WatchId, Watch> watches_;
  WatchId next_id_ = 1;
  std::unique_ptr<http::ClientStream> stream_;
  http::Url stream_url_;
  std::optional<JsonSplitter> splitter_;
  Duration pause_;
  int failures_ = 0;  // streams in a row that told nothing
  Time heard_{};      // or when the stream was opened
  std::uint64_t opened_ = 0;
  os::Pending opening_;
  os::Pending silence_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::store
