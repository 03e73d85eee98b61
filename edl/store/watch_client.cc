#include "edl/store/watch_client.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/store/codec.h"
#include "edl/store/status.h"

namespace edl::store {
namespace {

constexpr Duration kPauseMin = 20ms;
constexpr Duration kGather = 5ms;  // for others that come at the same time
constexpr Duration kPauseMax = 1s;
constexpr std::size_t kLineBytesMax = 256 << 20;

}  // namespace

class WatchClient::Subscription final : public os::Pending::Operation {
 public:
  Subscription(WatchClient& owner, WatchId id) : owner_(owner), alive_(owner.alive_), id_(id) {}
  // The stream goes on without it; what still comes for it is dropped.
  ~Subscription() override {
    if (*alive_) owner_.watches_.erase(id_);
  }

 private:
  WatchClient& owner_;
  std::shared_ptr<bool> alive_;
  WatchId id_;
};

WatchClient::WatchClient(Client& client, WatchOptions options)
    : client_(client), options_(std::move(options)), pause_(kPauseMin) {
  client_.on_no_answer([this](const http::Url& endpoint, Time since) { doubt(endpoint, since); });
}

WatchClient::~WatchClient() {
  *alive_ = false;
  client_.on_no_answer(nullptr);
}

os::Pending WatchClient::watch(const WatchCreateRequest& request, OnWatch on_watch) {
  const WatchId id = next_id_++;
  Watch& watch = watches_[id];
  watch.request = request;
  watch.request.watch_id = id;
  watch.request.progress_notify = true;
  watch.on_watch = std::move(on_watch);
  open_soon(stream_ ? kGather : Duration::zero());
  return os::Pending(std::make_unique<Subscription>(*this, id));
}

// Several that are asked for at once share one stream.
void WatchClient::open_soon(Duration pause) {
  opening_ = client_.system().after(pause, [this] { open(); });
}

// etcd reads the whole body before it answers over HTTP/1.1, so a stream's watches are told to it
// at its beginning, once and for all.
void WatchClient::open() {
  stream_.reset();
  if (watches_.empty()) return;
  std::string body;
  for (const auto& [id, watch] : watches_)
    append_message(body, WatchRequest{watch.request, {}, {}});
  ++opened_;
  splitter_.emplace(kLineBytesMax);
  stream_url_ = client_.endpoint();
  heard_ = client_.system().now();
  http::StreamCallbacks callbacks;
  callbacks.on_head = [this](const http::Response& head) {
    if (head.status != 200) on_refused(head.status);
  };
  callbacks.on_piece = [this](std::string_view piece) { on_piece(piece); };
  callbacks.on_end = [this](Result<void> end) {
    on_broken(end.ok() ? Error{Code::kUnavailable, "the store ended the watch"} : end.error());
  };
  stream_ = client_.http().open(stream_url_, client_.request("/v3/watch", std::move(body)), false,
                                options_.head_limit, std::move(callbacks));
  watch_silence();
}

// A client that is wrong is wrong the next time, too; one that is early or not alone is not.
void WatchClient::on_refused(int status) {
  constexpr int kBad = 400, kLate = 408, kTooMany = 429, kServerError = 500;
  const bool final =
      status >= kBad && status < kServerError && status != kLate && status != kTooMany;
  const std::string why = text("the store refused the watch with HTTP status ", status);
  if (!final) return on_broken({Code::kUnavailable, why});
  end_all({Code::kInvalid, why});
}

void WatchClient::on_broken(const Error& error) {
  // The first break is no news: a stream may end, and etcd's is silent for minutes.
  if (++failures_ == 2 && options_.on_state) options_.on_state(error);
  client_.system().log().debug("watch broken", {{"why", error.message}});
  client_.leave(stream_url_);
  silence_.cancel();
  const Duration pause = pause_;
  pause_ = std::min(pause_ * 2, kPauseMax);
  // Not inside its own callback.
  opening_ = client_.system().after(Duration::zero(), [this, pause] {
    stream_.reset();
    open_soon(pause);
  });
}

// A store that lost its power says nothing of it; calls find out sooner than a stream that only
// listens.
void WatchClient::doubt(const http::Url& endpoint, Time since) {
  if (!stream_ || endpoint != stream_url_ || heard_ >= since) return;
  heard_ = client_.system().now();  // once for each stream
  on_broken({Code::kTimeout, "the store did not answer"});
}

void WatchClient::watch_silence() {
  const Time limit = heard_ + options_.silence_max;
  silence_ = client_.system().after(limit - client_.system().now(), [this] {
    const Duration silent = client_.system().now() - heard_;
    if (silent < options_.silence_max) return watch_silence();
    on_broken({Code::kTimeout, "the store is silent"});
  });
}

void WatchClient::on_piece(std::string_view piece) {
  heard_ = client_.system().now();
  std::vector<std::string> lines;
  const auto split = splitter_->feed(piece, lines);
  const auto alive = alive_;
  const http::ClientStream* stream = stream_.get();
  for (const std::string& line : lines) {
    on_line(line);
    if (!*alive || stream_.get() != stream) return;
  }
  if (!split.ok()) on_broken(split.error());
}

void WatchClient::on_line(const std::string& text_line) {
  const auto line = read_message<WatchLine>(RawJson(text_line));
  if (!line.ok()) return on_broken(line.error());
  if (line->error) return on_broken(status_error(line->error->grpc_code, line->error->message));
  if (!line->result || !line->result->header) return;
  if (const auto same = client_.check_cluster(*line->result->header); !same.ok()) {
    return end_all(same.error());
  }
  on_response(*line->result);
}

void WatchClient::on_response(const WatchResponse& response) {
  const auto found = watches_.find(response.watch_id);
  if (found == watches_.end()) return;  // nobody waits for it any more
  Watch& watch = found->second;
  pause_ = kPauseMin;
  if (std::exchange(failures_, 0) >= 2 && options_.on_state) options_.on_state({});
  if (response.canceled) {
    const bool compacted = response.compact_revision > 0;
    return end(found->first,
               compacted ? Error{Code::kNotFound, text("history before revision ",
                                                       response.compact_revision, " is gone")}
                         : Error{Code::kInvalid,
                                 text("the store refused the watch: ", response.cancel_reason)});
  }
  WatchBatch batch;
  Revision& place = watch.request.start_revision;
  for (const Event& event : response.events) {
    if (event.kv.mod_revision >= place) batch.events.push_back(event);
  }
  if (!response.events.empty()) {
    place = std::max(place, response.events.back().kv.mod_revision + 1);
  } else if (place == 0 || !response.created) {
    place = std::max(place, response.header->revision + 1);  // nothing happened up to here
  }
  batch.revision = place - 1;
  const auto told = watch.on_watch;  // it may end the watch
  if (!batch.events.empty() || !response.created) told(std::move(batch));
}

void WatchClient::end(WatchId id, const Error& error) {
  const auto told = watches_.at(id).on_watch;
  watches_.erase(id);
  told(error);
}

void WatchClient::end_all(const Error& error) {
  const auto alive = alive_;
  while (*alive && !watches_.empty()) end(watches_.begin()->first, error);
}

}  // namespace edl::store
