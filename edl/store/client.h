// A client of etcd's API: of the embedded store, or of an etcd cluster with several members.
//
// It goes on to the next endpoint when one cannot be reached, and tries again until the deadline
// whatever is safe to try again. It remembers which store it talks to: one that was replaced, or
// that fell back to an older state, is refused.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/http/client.h"
#include "edl/os/system.h"
#include "edl/store/message.h"
#include "edl/store/store.h"
#include "edl/store/stream_message.h"

namespace edl::store {

struct ClientOptions {
  std::vector<http::Url> endpoints{};
  std::string token{};
  const http::TlsContext* tls = nullptr;
  Duration limit = 5s;           // for one call, all attempts together
  Duration attempt_limit = 2s;   // then the next endpoint is tried, if that is safe
  std::uint64_t cluster_id = 0;  // of the store that is meant; 0: the first that answers
};

// "http://a:2379,http://b:2379".
Result<std::vector<http::Url>> parse_endpoints(std::string_view text);

// Errors: kTimeout means that a change may or may not have happened; kUnavailable that it has
// not; kConflict that this is another store than before; the rest is what etcd refused.
class Client {
 public:
  Client(os::System& system, ClientOptions options);
  ~Client();

  // Destroying the Pending gives the call up; what it asked for may happen all the same.
  [[nodiscard]] os::Pending range(const RangeRequest& request, Done<RangeResponse> done);
  [[nodiscard]] os::Pending put(const PutRequest& request, Done<PutResponse> done);
  [[nodiscard]] os::Pending remove(const DeleteRangeRequest& request,
                                   Done<DeleteRangeResponse> done);
  [[nodiscard]] os::Pending txn(const TxnRequest& request, Done<TxnResponse> done);
  [[nodiscard]] os::Pending compact(const CompactionRequest& request,
                                    Done<CompactionResponse> done);
  [[nodiscard]] os::Pending grant(const LeaseGrantRequest& request, Done<LeaseGrantResponse> done);
  [[nodiscard]] os::Pending revoke(const LeaseRevokeRequest& request,
                                   Done<LeaseRevokeResponse> done);
  // kNotFound when the lease is over.
  [[nodiscard]] os::Pending keep_alive(const LeaseKeepAliveRequest& request,
                                       Done<LeaseKeepAliveResponse> done);
  [[nodiscard]] os::Pending time_to_live(const LeaseTimeToLiveRequest& request,
                                         Done<LeaseTimeToLiveResponse> done);
  [[nodiscard]] os::Pending leases(const LeaseLeasesRequest& request,
                                   Done<LeaseLeasesResponse> done);
  [[nodiscard]] os::Pending status(const StatusRequest& request, Done<StatusResponse> done);

  // For streams of one's own.
  os::System& system() { return system_; }
  http::Client& http() { return http_; }
  http::Request request(std::string path, std::string body) const;
  const http::Url& endpoint() const { return options_.endpoints[current_]; }
  // This endpoint is of no use now.
  void leave(const http::Url& endpoint);
  // Told when a call that began at `since` got no answer from an endpoint: a stream of one's own
  // that was silent since then may be as dead and not know it.
  using OnNoAnswer = std::function<void(const http::Url& endpoint, Time since)>;
  void on_no_answer(OnNoAnswer tell) { on_no_answer_ = std::move(tell); }
  // An error when the header is another store's.
  Result<void> check_cluster(const Header& header);
  Revision highest_revision() const { return highest_; }

 private:
  struct Call;
  struct Plan {
    std::string path;
    bool is_safe = false;     // to be done twice
    bool is_ordered = false;  // its answer's revision is never older than what was known before
  };

  template <class Request, class Response>
  os::Pending call(Plan plan, const Request& request, Done<Response> done);
  template <class Response>
  Result<Response> read(const Plan& plan, const std::string& body, Revision known);
  void attempt(Call& call);
  void on_answer(Call& call, const http::Url& endpoint, Result<http::Response> answer);
  void retry(Call& call, Error error);

  os::System& system_;
  const ClientOptions options_;
  http::Client http_;
  std::size_t current_ = 0;
  std::uint64_t cluster_id_;
  Revision highest_ = 0;
  OnNoAnswer on_no_answer_;
};

}  // namespace edl::store
