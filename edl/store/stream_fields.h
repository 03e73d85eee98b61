// The fields of stream_message.h; see fields.h.
#pragma once

#include "edl/store/fields.h"
#include "edl/store/stream_message.h"

namespace edl::store {

inline constexpr std::array<std::string_view, 2> kEventTypes{"PUT", "DELETE"};
inline constexpr std::array<std::string_view, 2> kWatchFilters{"NOPUT", "NODELETE"};

inline constexpr ChoiceNames kEventType{"mvccpb.Event_EventType", kEventTypes};
inline constexpr ChoiceNames kWatchFilter{"etcdserverpb.WatchCreateRequest_FilterType",
                                          kWatchFilters};

template <class F, Of<Event> M>
void fields(F& f, M& m) {
  f.choice("type", m.type, kEventType);
  f.always("kv", m.kv);
  f.message("prev_kv", m.prev_kv);
}
template <class F, Of<WatchCreateRequest> M>
void fields(F& f, M& m) {
  f.bytes("key", m.key);
  f.bytes("range_end", m.range_end);
  f.integer("start_revision", m.start_revision);
  f.flag("progress_notify", m.progress_notify);
  f.choice_list("filters", m.filters, kWatchFilter);
  f.flag("prev_kv", m.prev_kv);
  f.integer("watch_id", m.watch_id);
  f.flag("fragment", m.fragment);
}
template <class F, Of<WatchCancelRequest> M>
void fields(F& f, M& m) {
  f.integer("watch_id", m.watch_id);
}
template <class F, Of<WatchRequest> M>
void fields(F& f, M& m) {
  f.message("create_request", m.create_request);
  f.message("cancel_request", m.cancel_request);
  f.message("progress_request", m.progress_request);
}
template <class F, Of<WatchResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.integer("watch_id", m.watch_id);
  f.flag("created", m.created);
  f.flag("canceled", m.canceled);
  f.integer("compact_revision", m.compact_revision);
  f.text("cancel_reason", m.cancel_reason);
  f.flag("fragment", m.fragment);
  f.list("events", m.events);
}

template <class F, class M>
  requires Of<M, KeepAliveLine> || Of<M, WatchLine>
void fields(F& f, M& m) {
  f.message("result", m.result);
  f.message("error", m.error);
}
template <class F, Of<StreamError> M>
void fields(F& f, M& m) {
  f.integer("grpc_code", m.grpc_code);
  f.text("message", m.message);
}
template <class F, Of<RefusalBody> M>
void fields(F& f, M& m) {
  f.text("message", m.message);
  f.integer("code", m.code);
}

// Messages without fields.
template <class F, class M>
  requires Of<M, WatchProgressRequest> || Of<M, StatusRequest> || Of<M, LeaseLeasesRequest>
void fields(F&, M&) {}

template <class F, Of<StatusResponse> M>
void fields(F& f, M& m) {
  f.message("header", m.header);
  f.text("version", m.version);
  f.integer("dbSize", m.db_size);
  f.integer("leader", m.leader);
  f.integer("raftIndex", m.raft_index);
  f.integer("raftTerm", m.raft_term);
  f.integer("raftAppliedIndex", m.raft_applied_index);
  f.text_list("errors", m.errors);
  f.integer("dbSizeInUse", m.db_size_in_use);
}

}  // namespace edl::store
