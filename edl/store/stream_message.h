// What goes over the streams of etcd's v3 API, watches above all, and the small calls beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edl/store/message.h"

namespace edl::store {

enum class EventType { kPut = 0, kDelete = 1 };
struct Event {
  EventType type = EventType::kPut;
  KeyValue kv{};
  std::optional<KeyValue> prev_kv{};
};
enum class WatchFilter { kNoPut = 0, kNoDelete = 1 };
struct WatchCreateRequest {
  std::string key{};
  std::string range_end{};
  Revision start_revision = 0;  // 0: from now on
  bool progress_notify = false;
  std::vector<WatchFilter> filters{};
  bool prev_kv = false;
  WatchId watch_id = 0;  // 0: the server chooses
  bool fragment = false;
};
struct WatchCancelRequest {
  WatchId watch_id = 0;
};
struct WatchProgressRequest {};
// Exactly one of them; none means nothing.
struct WatchRequest {
  std::optional<WatchCreateRequest> create_request{};
  std::optional<WatchCancelRequest> cancel_request{};
  std::optional<WatchProgressRequest> progress_request{};
};
struct WatchResponse {
  std::optional<Header> header{};
  WatchId watch_id = 0;
  bool created = false;
  bool canceled = false;
  Revision compact_revision = 0;  // what the watch asked for is gone: list again
  std::string cancel_reason{};
  bool fragment = false;  // more of the same revision follows
  std::vector<Event> events{};
};

// What a stream carries: an answer, or its end.
struct StreamError {
  std::int64_t grpc_code = 0;
  std::string message{};
};
struct KeepAliveLine {
  std::optional<LeaseKeepAliveResponse> result{};
  std::optional<StreamError> error{};
};
struct WatchLine {
  std::optional<WatchResponse> result{};
  std::optional<StreamError> error{};
};
// The body of an answer that is not 200.
struct RefusalBody {
  std::string message{};
  std::int64_t code = 0;
};

struct StatusRequest {};
struct StatusResponse {
  std::optional<Header> header{};
  std::string version{};
  std::int64_t db_size = 0;
  std::uint64_t leader = 0;
  std::uint64_t raft_index = 0;
  std::uint64_t raft_term = 0;
  std::uint64_t raft_applied_index = 0;
  std::vector<std::string> errors{};
  std::int64_t db_size_in_use = 0;
};

}  // namespace edl::store
