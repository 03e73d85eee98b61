// The streamed calls under way: watches and keep-alives. They are fed with pieces of their bodies
// as these come, and speak when the server's turn says so.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/http/server.h"
#include "edl/store/core.h"
#include "edl/store/gateway.h"
#include "edl/store/json_scanner.h"
#include "edl/store/raw_json.h"
#include "edl/store/watches.h"

namespace edl::store {

// One streamed call. Its requests wait for the next turn.
class CallStream {
 public:
  CallStream(std::unique_ptr<http::Exchange> exchange, Route route);

  // `changed` when there is something to do in a turn; `gone` when it may be destroyed.
  void start(std::function<void()> changed, std::function<void()> gone);

  // Applies what came to the core: renewals, for which the answers wait until `speak`.
  void renew(StoreCore& core, Time now);
  // Sends what there is to say, as much as the network takes.
  void speak(const StoreCore& core);
  void tell_progress(const StoreCore& core);
  // All is said; it may be destroyed.
  bool over() const { return over_; }

 private:
  void speak_watches(const StoreCore& core);
  void on_piece(std::string_view piece);
  Result<void> take(const RawJson& json);
  void refuse(const Error& error);
  void send(std::string lines);
  void send(const std::vector<WatchResponse>& responses);

  const Route route_;
  std::unique_ptr<http::Exchange> exchange_;
  JsonSplitter splitter_;
  std::vector<LeaseKeepAliveRequest> renewals_;
  std::vector<WatchRequest> requests_;
  std::string answers_;  // to renewals
  Watches watches_;
  bool begun_ = false;
  bool body_ended_ = false;
  bool over_ = false;
  bool behind_ = false;  // there is more to say than the network takes
  std::function<void()> changed_;
};

class StreamSet {
 public:
  // `changed` is called when a turn is due.
  explicit StreamSet(std::function<void()> changed) : changed_(std::move(changed)) {}

  void add(os::System& system, std::unique_ptr<http::Exchange> exchange, Route route);
  std::size_t size() const { return streams_.size(); }

  void renew(StoreCore& core, Time now);
  void speak(const StoreCore& core);
  void tell_progress(const StoreCore& core);

 private:
  std::function<void()> changed_;
  std::map<std::uint64_t, std::unique_ptr<CallStream>> streams_;
  std::uint64_t next_ = 0;
};

}  // namespace edl::store
