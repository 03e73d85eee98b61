#include "edl/store/client.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/store/codec.h"
#include "edl/store/json_scanner.h"
#include "edl/store/status.h"

namespace edl::store {
namespace {

constexpr Duration kPauseMin = 20ms;
constexpr Duration kPauseMax = 500ms;

http::ClientOptions http_options(const ClientOptions& options) {
  http::ClientOptions http{.tls = options.tls};
  http.limits.body_bytes_max = 256 << 20;  // a whole range
  return http;
}

template <class Response>
const std::optional<Header>& header_of(const Response& response) {
  static const std::optional<Header> none;
  if constexpr (requires { response.header; }) {
    return response.header;
  } else {
    return response.result ? response.result->header : none;
  }
}

}  // namespace

Result<std::vector<http::Url>> parse_endpoints(std::string_view input) {
  std::vector<http::Url> endpoints;
  for (const std::string_view part : split(input, ',')) {
    EDL_TRY(http::Url url, http::parse_url(trim(part)));
    endpoints.push_back(std::move(url));
  }
  return endpoints;
}

// One call through all its attempts. Owned by the Pending that its caller holds.
struct Client::Call final : os::Pending::Operation {
  Client* client = nullptr;
  Plan plan;
  std::string body;
  Time deadline;
  Duration pause = kPauseMin;
  std::size_t failed = 0;                            // endpoints in a row
  Revision known = 0;                                // the highest revision when it was sent
  Error error{Code::kTimeout, "no time was given"};  // of the last attempt
  os::Pending sent;
  os::Pending paused;
  // The answer's body, or what went wrong. May destroy the call.
  std::function<void(Result<std::string>)> finish;
};

Client::Client(os::System& system, ClientOptions options)
    : system_(system),
      options_(std::move(options)),
      http_(system, http_options(options_)),
      cluster_id_(options_.cluster_id) {
  EDL_CHECK(!options_.endpoints.empty());
}

Client::~Client() = default;

http::Request Client::request(std::string path, std::string body) const {
  http::Request request{.target = std::move(path), .body = std::move(body)};
  request.headers.push_back({"Content-Type", "application/json"});
  if (!options_.token.empty()) request.headers.push_back({"Authorization", options_.token});
  return request;
}

void Client::leave(const http::Url& endpoint) {
  if (endpoint == options_.endpoints[current_]) {
    current_ = (current_ + 1) % options_.endpoints.size();
  }
}

Result<void> Client::check_cluster(const Header& header) {
  if (cluster_id_ == 0) cluster_id_ = header.cluster_id;
  if (header.cluster_id == cluster_id_) return {};
  return Error{Code::kConflict,
               text("the store at ", http::url_text(endpoint()), " is another one (cluster ",
                    header.cluster_id, ") than the one in use (cluster ", cluster_id_,
                    "): it was replaced. Bring the old one back, or start anew.")};
}

template <class Request, class Response>
os::Pending Client::call(Plan plan, const Request& request, Done<Response> done) {
  auto call = std::make_unique<Call>();
  Call* raw = call.get();
  raw->client = this;
  raw->plan = std::move(plan);
  raw->body = message_text(request);
  raw->deadline = system_.now() + options_.limit;
  raw->known = highest_;
  raw->finish = [this, raw, done = std::move(done)](Result<std::string> body) {
    const auto finished = done;  // `done` may destroy the call, and with it this function
    if (!body.ok()) return finished(body.error());
    finished(read<Response>(raw->plan, *body, raw->known));
  };
  attempt(*raw);
  return os::Pending(std::move(call));
}

void Client::attempt(Call& call) {
  const http::Url url = endpoint();
  const Duration left = call.deadline - system_.now();
  if (left <= Duration::zero()) return call.finish(call.error);  // we were stopped in the pause
  const bool may_move = options_.endpoints.size() > 1 && call.plan.is_safe;
  const Duration limit = may_move ? std::min(left, options_.attempt_limit) : left;
  const Time since = system_.now();
  call.sent = http_.send(url, request(call.plan.path, call.body), limit,
                         [this, &call, url, since](Result<http::Response> answer) {
                           if (!answer.ok() && on_no_answer_) on_no_answer_(url, since);
                           on_answer(call, url, std::move(answer));
                         });
}

void Client::on_answer(Call& call, const http::Url& url, Result<http::Response> answer) {
  if (!answer.ok()) {
    leave(url);
    // An address or a certificate that is wrong (kInvalid): nothing was sent.
    const Code code = answer.error().code;
    const bool certain = code == Code::kUnavailable || code == Code::kInvalid;
    if (certain || call.plan.is_safe) return retry(call, answer.error());
    return call.finish(answer.error());
  }
  if (answer->status == 200) return call.finish(std::move(answer->body));
  const Error refused = refusal_error(*answer);
  if (refused.code != Code::kUnavailable) return call.finish(refused);
  // A member without a leader, or one that waited for the others in vain.
  leave(url);
  if (call.plan.is_safe) return retry(call, refused);
  call.finish(Error{Code::kTimeout, refused.message});
}

void Client::retry(Call& call, Error error) {
  const bool is_last = call.failed + 1 >= options_.endpoints.size();
  const bool is_hopeless = error.code == Code::kInvalid && is_last;  // another try is the same
  if (is_hopeless || system_.now() + call.pause >= call.deadline) {
    return call.finish(std::move(error));
  }
  call.error = std::move(error);
  // Every endpoint once, then a pause.
  const bool all_failed = ++call.failed % options_.endpoints.size() == 0;
  const Duration pause = all_failed ? call.pause : Duration::zero();
  if (all_failed) call.pause = std::min(call.pause * 2, kPauseMax);
  call.paused = system_.after(pause, [this, &call] { attempt(call); });
}

template <class Response>
Result<Response> Client::read(const Plan& plan, const std::string& body, Revision known) {
  EDL_TRY(const std::string_view json, first_json_value(body));
  EDL_TRY(Response response, read_message<Response>(RawJson(json)));
  const std::optional<Header>& header = header_of(response);
  if (!header) return Error{Code::kCorrupt, "the store's answer has no header"};
  EDL_TRY(check_cluster(*header));
  const Revision revision = header->revision;
  if (plan.is_ordered && revision < known) {
    return Error{Code::kConflict,
                 text("the store fell back from revision ", known, " to ", revision,
                      ": it was restored from an old copy. Bring the newer one back, or start "
                      "anew.")};
  }
  if (plan.is_ordered) highest_ = std::max(highest_, revision);
  return response;
}

os::Pending Client::range(const RangeRequest& request, Done<RangeResponse> done) {
  return call<RangeRequest, RangeResponse>({"/v3/kv/range", true, !request.serializable}, request,
                                           std::move(done));
}

os::Pending Client::put(const PutRequest& request, Done<PutResponse> done) {
  return call<PutRequest, PutResponse>({"/v3/kv/put", false, true}, request, std::move(done));
}

os::Pending Client::remove(const DeleteRangeRequest& request, Done<DeleteRangeResponse> done) {
  return call<DeleteRangeRequest, DeleteRangeResponse>({"/v3/kv/deleterange", false, true}, request,
                                                       std::move(done));
}

os::Pending Client::txn(const TxnRequest& request, Done<TxnResponse> done) {
  return call<TxnRequest, TxnResponse>({"/v3/kv/txn", false, true}, request, std::move(done));
}

os::Pending Client::compact(const CompactionRequest& request, Done<CompactionResponse> done) {
  return call<CompactionRequest, CompactionResponse>({"/v3/kv/compaction", false, false}, request,
                                                     std::move(done));
}

os::Pending Client::grant(const LeaseGrantRequest& request, Done<LeaseGrantResponse> done) {
  return call<LeaseGrantRequest, LeaseGrantResponse>({"/v3/lease/grant", false, false}, request,
                                                     std::move(done));
}

os::Pending Client::revoke(const LeaseRevokeRequest& request, Done<LeaseRevokeResponse> done) {
  return call<LeaseRevokeRequest, LeaseRevokeResponse>({"/v3/lease/revoke", false, false}, request,
                                                       std::move(done));
}

// A stream of one message; the answer to a lease that is over looks like success, without a TTL.
os::Pending Client::keep_alive(const LeaseKeepAliveRequest& request,
                               Done<LeaseKeepAliveResponse> done) {
  const auto unpack = [done = std::move(done)](Result<KeepAliveLine> line) {
    if (!line.ok()) return done(line.error());
    if (line->result->ttl <= 0) {
      return done(Error{Code::kNotFound, text("lease ", line->result->id, " is over")});
    }
    done(*line->result);
  };
  return call<LeaseKeepAliveRequest, KeepAliveLine>({"/v3/lease/keepalive", true, false}, request,
                                                    unpack);
}

os::Pending Client::time_to_live(const LeaseTimeToLiveRequest& request,
                                 Done<LeaseTimeToLiveResponse> done) {
  return call<LeaseTimeToLiveRequest, LeaseTimeToLiveResponse>(
      {"/v3/lease/timetolive", true, false}, request, std::move(done));
}

os::Pending Client::leases(const LeaseLeasesRequest& request, Done<LeaseLeasesResponse> done) {
  return call<LeaseLeasesRequest, LeaseLeasesResponse>({"/v3/lease/leases", true, false}, request,
                                                       std::move(done));
}

os::Pending Client::status(const StatusRequest& request, Done<StatusResponse> done) {
  return call<StatusRequest, StatusResponse>({"/v3/maintenance/status", true, false}, request,
                                             std::move(done));
}

}  // namespace edl::store
