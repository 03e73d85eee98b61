#include "edl/store/server.h"

#include <algorithm>

#include "edl/store/codec.h"
#include "edl/store/gateway.h"
#include "edl/store/json_scanner.h"
#include "edl/store/refusals.h"

namespace edl::store {
namespace {

constexpr std::string_view kEtcdVersion = "3.4.23";  // whose API this is
constexpr Duration kLateMax = 500ms;  // an alarm that comes later means that we were stopped
constexpr Duration kProbeEvery = 1s;
constexpr std::size_t kTogetherMax = 128;         // requests that are waited for
constexpr std::uint64_t kFreeBytesMin = 1 << 20;  // before a full disk is tried again

std::uint64_t chance(os::System& system) {
  std::uint64_t number = 0;
  system.fill_random(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

}  // namespace

Result<std::unique_ptr<StoreServer>> StoreServer::start(os::System& system, StoreOptions options) {
  if (!options.address.is_local() && options.token.empty()) {
    return Error{Code::kInvalid, text("cannot serve on ", options.address,
                                      " without a token: others can reach that address. Give "
                                      "--token-file, or listen on 127.0.0.1 or unix:PATH.")};
  }
  EDL_TRY(auto disk, StoreDisk::open(system, options.folder, options.disk));
  std::unique_ptr<StoreServer> server(new StoreServer(system, std::move(options), std::move(disk)));
  EDL_TRY(server->load());
  EDL_TRY(server->disk_->begin(server->starts_));
  EDL_TRY(server->listen());
  server->set_alarm();
  server->tell_progress();
  return server;
}

StoreServer::StoreServer(os::System& system, StoreOptions options, std::unique_ptr<StoreDisk> disk)
    : system_(system),
      options_(std::move(options)),
      log_(system.log().room("store")),
      disk_(std::move(disk)),
      streams_([this] { want_turn(); }) {}

StoreServer::~StoreServer() = default;

Result<void> StoreServer::load() {
  EDL_TRY(Image image, disk_->load());
  starts_ = image.starts;
  const Time now = system_.now();
  core_ = std::make_unique<StoreCore>(std::move(image), options_.limits, chance(system_), now);
  log_.info("loaded", {{"revision", core_->history().revision()},
                       {"keys", core_->history().key_count()},
                       {"start", starts_}});
  return {};
}

Result<void> StoreServer::listen() {
  http::ServerOptions options{.address = options_.address, .tls = options_.tls};
  options.limits.body_bytes_max = 8 << 20;
  options.streams = [](const http::Request& head) {
    const auto routed = route(head);
    const Route* found = std::get_if<Route>(&routed);
    return found != nullptr && (*found == Route::kWatch || *found == Route::kKeepAlive);
  };
  EDL_TRY(http_, http::Server::start(system_, std::move(options),
                                     [this](std::unique_ptr<http::Exchange> exchange) {
                                       on_exchange(std::move(exchange));
                                     }));
  return {};
}

// As etcd takes a token, or as the rest of the world does.
bool StoreServer::is_allowed(const http::Request& request) const {
  if (options_.token.empty()) return true;
  std::string_view shown = http::find_header(request.headers, "Authorization");
  constexpr std::string_view kBearer = "Bearer ";
  if (shown.starts_with(kBearer)) shown.remove_prefix(kBearer.size());
  return equal_in_constant_time(bytes_of(shown), bytes_of(options_.token));
}

void StoreServer::on_exchange(std::unique_ptr<http::Exchange> exchange) {
  const auto routed = route(exchange->request());
  if (const auto* answer = std::get_if<http::Response>(&routed)) return exchange->answer(*answer);
  const Route what = std::get<Route>(routed);
  if (what == Route::kHealth) {
    return exchange->answer({.headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                             .body = "{\"health\":\"true\"}"});
  }
  if (what == Route::kVersion) {
    return exchange->answer(
        json_response(text("{\"etcdserver\":\"", kEtcdVersion, "\",\"etcdcluster\":\"3.4.0\"}")));
  }
  if (!is_allowed(exchange->request())) {
    constexpr int kUnauthenticated = 16;
    return exchange->answer(refusal_response({kUnauthenticated, "etcdserver: invalid auth token"}));
  }
  if (what == Route::kStatus) return on_status(*exchange);
  if (what == Route::kUnary) return on_unary(std::move(exchange));
  streams_.add(system_, std::move(exchange), what);
}

void StoreServer::on_unary(std::unique_ptr<http::Exchange> exchange) {
  auto request = read_unary(exchange->request().target, exchange->request().body);
  if (!request.ok()) {
    return exchange->answer(refusal_response(unreadable(request.error())));
  }
  waiting_.push_back({std::move(exchange), std::move(request).value()});
  want_turn();
}

void StoreServer::on_status(http::Exchange& exchange) {
  const auto json = first_json_value(exchange.request().body);
  const auto request =
      json.ok() ? read_message<StatusRequest>(RawJson(*json)) : Result<StatusRequest>(json.error());
  exchange.answer(request.ok() ? status() : refusal_response(unreadable(request.error())));
}

http::Response StoreServer::status() const {
  const Header header = core_->header();
  StatusResponse status{.header = header,
                        .version = std::string(kEtcdVersion),
                        .db_size = disk_->bytes(),
                        .leader = header.member_id,
                        .raft_index = static_cast<std::uint64_t>(header.revision),
                        .raft_term = header.raft_term,
                        .raft_applied_index = static_cast<std::uint64_t>(header.revision),
                        .db_size_in_use = disk_->bytes()};
  if (disk_full_) status.errors.emplace_back("the disk is full");
  return json_response(message_text(status));
}

void StoreServer::want_turn() {
  if (turn_wanted_ || ended_) return;
  turn_wanted_ = true;
  gather(0);
}

// A sync is dear, so it is shared by all that arrive: as long as a pass of the loop brings more
// than the `known` ones, another one is waited for.
void StoreServer::gather(std::size_t known) {
  turn_ = system_.after(Duration::zero(), [this, known] {
    const std::size_t count = waiting_.size();
    if (count > known && count < kTogetherMax) return gather(count);
    turn();
  });
}

void StoreServer::turn() {
  turn_wanted_ = false;
  if (ended_) return;
  const Time now = system_.now();
  const auto is_change = [](const Waiting& one) { return changes(one.request); };
  if (disk_full_ && std::any_of(waiting_.begin(), waiting_.end(), is_change)) probe_disk();
  std::vector<UnaryResponse> answers = apply_all(now);
  if (!commit()) {
    if (ended_) return;
    answers = apply_all(now);  // what changes nothing is answered all the same
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    waiting_[i].exchange->answer(response(answers[i]));
  }
  waiting_.clear();
  streams_.speak(*core_);
  set_alarm();
  if (disk_->wants_rest()) rest();
}

std::vector<UnaryResponse> StoreServer::apply_all(Time now) {
  std::vector<UnaryResponse> answers;
  answers.reserve(waiting_.size());
  streams_.renew(*core_, now);
  for (const Waiting& waiting : waiting_) answers.push_back(apply(waiting.request, now));
  // Last, so that a renewal that has arrived still counts.
  if (!disk_full_) core_->on_time(now);
  return answers;
}

UnaryResponse StoreServer::apply(const UnaryRequest& request, Time now) {
  if (disk_full_ && changes(request)) return no_space();
  return core_->apply(request, now);
}

// False when nothing of this turn may count.
bool StoreServer::commit() {
  const Changes changes = core_->take_changes();
  if (changes.empty()) return true;
  const auto done = disk_->commit(changes, core_->history());
  if (done.ok()) return true;
  if (done.error().code == Code::kExhausted) {
    on_disk_full(done.error());
  } else {
    give_up(done.error());
  }
  return false;
}

// Back to what is on disk. Changes are refused until there is room again.
void StoreServer::on_disk_full(const Error& error) {
  log_.error("the disk is full: changes are refused until there is room", {{"why", error.message}});
  disk_full_ = true;
  probe_disk_later();
  if (const auto loaded = load(); !loaded.ok()) give_up(loaded.error());
}

void StoreServer::probe_disk() {
  const auto free = system_.disk().free_bytes(options_.folder);
  if (!free.ok() || *free < kFreeBytesMin || !disk_->begin(starts_).ok()) return;
  disk_full_ = false;
  log_.warn("there is room on the disk again");
}

// Leases that are over wait for it, too.
void StoreServer::probe_disk_later() {
  probe_ = system_.after(kProbeEvery, [this] {
    probe_disk();
    if (disk_full_) return probe_disk_later();
    want_turn();
  });
}

void StoreServer::set_alarm() {
  const auto wake = core_->wake_at();
  alarm_.cancel();
  if (!wake || disk_full_) return;
  const Time now = system_.now();
  alarm_at_ = std::max(*wake, now);
  alarm_ = system_.after(alarm_at_ - now, [this] { on_alarm(); });
}

void StoreServer::on_alarm() {
  // Stopped, or busy for long: nobody could renew in that time.
  const Duration late = system_.now() - alarm_at_;
  if (late > kLateMax) core_->on_pause(late);
  turn();
}

void StoreServer::rest() {
  if (rest_wanted_) return;
  rest_wanted_ = true;
  resting_ = system_.after(Duration::zero(), [this] {
    rest_wanted_ = false;
    if (const auto done = disk_->rest(); !done.ok()) {
      if (done.error().code != Code::kExhausted) return give_up(done.error());
      return log_.warn("cannot tidy up the store", {{"why", done.error().message}});
    }
    if (disk_->wants_rest()) rest();
  });
}

void StoreServer::tell_progress() {
  progress_ = system_.after(options_.progress_every, [this] {
    streams_.tell_progress(*core_);
    tell_progress();
  });
}

// What is on disk is unknown now; the next start finds out. Nobody is answered.
void StoreServer::give_up(const Error& error) {
  log_.error("the store ends", {{"why", error.message}});
  ended_ = true;
  system_.finish(1);
}

Result<void> StoreServer::close() {
  turn();
  ended_ = true;
  return disk_->close();
}

}  // namespace edl::store
