#include "examples/lock/client.h"

#include <algorithm>

#include "examples/lock/messages.h"

namespace edl::lock {
namespace {

constexpr Duration kBackoffMin = 50ms;
constexpr Duration kBackoffMax = 1s;
constexpr Duration kConnectLimit = 2s;

}  // namespace

LockClient::LockClient(os::System& system, ClientOptions options)
    : system_(system),
      options_(std::move(options)),
      endpoint_(system, endpoint_options(options_.id, options_.secret)),
      core_(options_.lease),
      backoff_(kBackoffMin) {
  connect();
}

void LockClient::want() {
  wanted_ = true;
  ask();
}

void LockClient::release() {
  wanted_ = false;
  held_ = false;
  const auto request = core_.release(system_.now());
  if (request && connection_) (void)send_request(*connection_, *request);  // else the lease ends
}

void LockClient::connect() {
  connecting_ = endpoint_.connect(options_.server, kConnectLimit, [this](auto connected) {
    if (!connected.ok()) {
      system_.log().debug("no server", {{"why", connected.error().message}});
      return connect_later();
    }
    backoff_ = kBackoffMin;
    connection_ = std::move(connected).value();
    connection_->start([this](const wire::Frame& frame) { on_frame(frame); },
                       [this](const Error&) {
                         connection_.reset();
                         core_.on_disconnected();
                         connect_later();
                       });
    ask();
  });
}

void LockClient::connect_later() {
  retry_ = system_.after(backoff_, [this] { connect(); });
  backoff_ = std::min(backoff_ * 2, kBackoffMax);
}

void LockClient::on_frame(const wire::Frame& frame) {
  const auto answer = decision_from(frame);
  if (!answer.ok()) return system_.log().warn("strange answer", {{"why", answer.error().message}});
  core_.on_answer(*answer, system_.now());
  ask();
}

// Sends what is due and sets the alarm for what is due next.
void LockClient::ask() {
  const Time now = system_.now();
  if (wanted_) {
    if (connection_) {
      if (const auto request = core_.want(now)) (void)send_request(*connection_, *request);
    }
    timer_ = system_.after(core_.wake_at(now) - now, [this] { ask(); });
  }
  const bool holds = wanted_ && core_.holds(now);
  if (holds == held_) return;
  held_ = holds;
  system_.log().info(holds ? "holds the lock" : "lost the lock");
  if (holds) options_.on_held();
}

}  // namespace edl::lock
