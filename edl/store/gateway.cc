#include "edl/store/gateway.h"

#include <algorithm>
#include <map>

#include "edl/base/bytes.h"
#include "edl/base/json.h"
#include "edl/store/codec.h"
#include "edl/store/json_scanner.h"

namespace edl::store {
namespace {

using Read = Result<UnaryRequest> (*)(const RawJson&);

template <class M>
Result<UnaryRequest> read(const RawJson& json) {
  EDL_TRY(M message, read_message<M>(json));
  return UnaryRequest(std::move(message));
}

const std::map<std::string_view, Read>& unary_paths() {
  static const std::map<std::string_view, Read> paths{
      {"/v3/kv/range", read<RangeRequest>},
      {"/v3/kv/put", read<PutRequest>},
      {"/v3/kv/deleterange", read<DeleteRangeRequest>},
      {"/v3/kv/txn", read<TxnRequest>},
      {"/v3/kv/compaction", read<CompactionRequest>},
      {"/v3/lease/grant", read<LeaseGrantRequest>},
      {"/v3/lease/revoke", read<LeaseRevokeRequest>},
      {"/v3/kv/lease/revoke", read<LeaseRevokeRequest>},
      {"/v3/lease/timetolive", read<LeaseTimeToLiveRequest>},
      {"/v3/kv/lease/timetolive", read<LeaseTimeToLiveRequest>},
      {"/v3/lease/leases", read<LeaseLeasesRequest>},
      {"/v3/kv/lease/leases", read<LeaseLeasesRequest>},
  };
  return paths;
}

http::Response text_response(int status, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(body)};
}

// Without the query, and with %XX as the bytes they stand for.
std::string path_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  std::string path;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto byte = target[i] == '%' ? parse_hex(target.substr(i + 1, 2)) : Bytes();
    if (target[i] == '%' && byte.ok() && byte->size() == 1) {
      path += static_cast<char>(byte->front());
      i += 2;
    } else {
      path += target[i];
    }
  }
  return path;
}

// As Go writes a string: what HTML would take for its own is escaped.
std::string go_string(const std::string& words) {
  std::string out;
  for (const char c : json_line(words)) {
    if (c == '<' || c == '>' || c == '&') {
      out += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

int http_status(int grpc_code) {
  static const std::map<int, int> statuses{{3, 400}, {4, 504},  {5, 404},  {8, 429},
                                           {9, 412}, {11, 400}, {14, 503}, {16, 401}};
  const auto found = statuses.find(grpc_code);
  return found == statuses.end() ? 500 : found->second;
}

bool changes_any(const TxnRequest& request) {
  const auto op_changes = [](const RequestOp& op) {
    if (const auto* txn = std::get_if<std::vector<TxnRequest>>(&op.request)) {
      return changes_any(txn->front());
    }
    return std::holds_alternative<PutRequest>(op.request) ||
           std::holds_alternative<DeleteRangeRequest>(op.request);
  };
  return std::any_of(request.success.begin(), request.success.end(), op_changes) ||
         std::any_of(request.failure.begin(), request.failure.end(), op_changes);
}

}  // namespace

std::variant<Route, http::Response> route(const http::Request& request) {
  const std::string path = path_of(request.target);
  if (request.method == "OPTIONS") return http::Response{};
  const bool simple = path == "/health" || path == "/version";
  if (simple && request.method == "GET") {
    return path == "/health" ? Route::kHealth : Route::kVersion;
  }
  const bool keep_alive = path == "/v3/lease/keepalive";
  const bool watch = path == "/v3/watch";
  const bool status = path == "/v3/maintenance/status";
  const bool call = keep_alive || watch || status || unary_paths().contains(path);
  if (simple || (call && request.method != "POST")) {
    return text_response(405, "Method Not Allowed\n");
  }
  if (!call) {
    return text_response(404, path.starts_with("/v3/") ? "Not Found\n" : "404 page not found\n");
  }
  return keep_alive ? Route::kKeepAlive
         : watch    ? Route::kWatch
         : status   ? Route::kStatus
                    : Route::kUnary;
}

Result<UnaryRequest> read_unary(std::string_view target, std::string_view body) {
  const auto found = unary_paths().find(path_of(target));
  EDL_CHECK(found != unary_paths().end());
  EDL_TRY(const std::string_view json, first_json_value(body));
  return found->second(RawJson(json));
}

http::Response json_response(std::string body) {
  return {.status = 200, .headers = json_headers(), .body = std::move(body)};
}

http::Response refusal_response(const Refusal& refusal) {
  const std::string message = go_string(refusal.message);
  return {.status = http_status(refusal.code),
          .headers = json_headers(),
          .body = text("{\"error\":", message, ",\"message\":", message, ",\"code\":", refusal.code,
                       "}")};
}

http::Response stream_refusal_response(const Refusal& refusal) {
  const int status = http_status(refusal.code);
  return {.status = status,
          .headers = json_headers(),
          .body = text("{\"error\":{\"grpc_code\":", refusal.code, ",\"http_code\":", status,
                       ",\"message\":", go_string(refusal.message),
                       ",\"http_status\":\"Too Many Requests\"}}")};
}

http::Response response(const UnaryResponse& answer) {
  return std::visit(
      [](const auto& concrete) {
        if constexpr (std::is_same_v<std::decay_t<decltype(concrete)>, Refusal>) {
          return refusal_response(concrete);
        } else {
          return json_response(message_text(concrete));
        }
      },
      answer);
}

std::string stream_line(std::string_view message) { return text("{\"result\":", message, "}\n"); }

bool changes(const UnaryRequest& request) {
  if (const auto* txn = std::get_if<TxnRequest>(&request)) return changes_any(*txn);
  return !std::holds_alternative<RangeRequest>(request) &&
         !std::holds_alternative<LeaseKeepAliveRequest>(request) &&
         !std::holds_alternative<LeaseTimeToLiveRequest>(request) &&
         !std::holds_alternative<LeaseLeasesRequest>(request);
}

}  // namespace edl::store
