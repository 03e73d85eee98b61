#include "edl/wire/endpoint.h"

#include "edl/base/text.h"
#include "edl/wire/greeting.h"

namespace edl::wire {

// Connects, then greets; everything it holds ends with it.
class Endpoint::Attempt final : public os::Pending::Operation {
 public:
  Attempt(Endpoint& endpoint, const os::Address& address, Duration limit, ConnectDone done)
      : state_(std::make_shared<State>()) {
    state_->done = std::move(done);
    const Time deadline = endpoint.system_.now() + limit;
    state_->connecting = endpoint.system_.network().connect(
        address, limit, [this_endpoint = &endpoint, state = state_, deadline](auto stream) {
          if (!stream.ok()) return answer(state, stream.error());
          greet(*this_endpoint, state, std::move(stream).value(), deadline);
        });
  }
  ~Attempt() override {
    state_->done = nullptr;
    state_->connecting.cancel();
    state_->greeting.reset();
  }

 private:
  struct State {
    ConnectDone done;
    os::Pending connecting;
    std::unique_ptr<Greeting> greeting;
  };

  static void answer(const std::shared_ptr<State>& state,
                     Result<std::unique_ptr<Connection>> result) {
    const ConnectDone done = std::move(state->done);
    state->done = nullptr;
    if (done) done(std::move(result));
  }

  static void greet(Endpoint& endpoint, const std::shared_ptr<State>& state,
                    std::unique_ptr<os::Stream> stream, Time deadline) {
    const Duration left = deadline - endpoint.system_.now();
    Handshake handshake(Role::kClient, endpoint.identity(), endpoint.fresh_nonce());
    const auto finish = [&endpoint, weak = std::weak_ptr<State>(state)](Result<void> result) {
      const auto held = weak.lock();
      if (!held) return;
      const std::unique_ptr<Greeting> greeting = std::move(held->greeting);
      if (result.ok()) return answer(held, endpoint.welcome(*greeting));
      answer(held, Error{result.error().code,
                         text("cannot join ", greeting->peer(), ": ", result.error().message)});
    };
    state->greeting = std::make_unique<Greeting>(endpoint.system_, std::move(stream),
                                                 std::move(handshake), left, finish);
  }

  std::shared_ptr<State> state_;
};

Endpoint::Endpoint(os::System& system, EndpointOptions options)
    : system_(system),
      options_(std::move(options)),
      job_(job_tag(options_.job)),
      log_(system.log().room("wire")) {}

Endpoint::~Endpoint() = default;

Nonce Endpoint::fresh_nonce() {
  Nonce nonce;
  system_.fill_random(nonce);
  return nonce;
}

Identity Endpoint::identity() { return {job_, options_.id, options_.secret, book_}; }

std::unique_ptr<Connection> Endpoint::welcome(Greeting& greeting) {
  std::string peer_id = greeting.peer_id();
  return std::make_unique<Connection>(system_, greeting.take_stream(), job_, std::move(peer_id),
                                      options_.connection);
}

Result<os::Address> Endpoint::listen(const os::Address& address, OnConnection on_connection) {
  EDL_TRY(auto listener, system_.network().listen(
                             address, [this, on_connection](std::unique_ptr<os::Stream> stream) {
                               accept(std::move(stream), on_connection);
                             }));
  os::Address bound = listener->address();
  listeners_.push_back(std::move(listener));
  return bound;
}

void Endpoint::accept(std::unique_ptr<os::Stream> stream, const OnConnection& on_connection) {
  if (strangers_.size() >= options_.strangers_max) {
    ++refused_;
    return log_.warn("refused",
                     {{"peer", stream->peer()}, {"why", "too many who have proven nothing"}});
  }
  const std::uint64_t number = next_stranger_++;
  const auto finish = [this, number, on_connection](Result<void> result) {
    const auto found = strangers_.find(number);
    const std::unique_ptr<Greeting> greeting = std::move(found->second);
    strangers_.erase(found);
    if (result.ok()) return on_connection(welcome(*greeting));
    ++refused_;
    log_.warn("refused", {{"peer", greeting->peer()}, {"why", result.error().message}});
  };
  Handshake handshake(Role::kServer, identity(), fresh_nonce());
  strangers_[number] = std::make_unique<Greeting>(system_, std::move(stream), std::move(handshake),
                                                  options_.handshake_limit, finish);
}

os::Pending Endpoint::connect(const os::Address& address, Duration limit, ConnectDone done) {
  return os::Pending(std::make_unique<Attempt>(*this, address, limit, std::move(done)));
}

}  // namespace edl::wire
