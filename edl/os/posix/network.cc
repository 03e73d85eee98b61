#include "edl/os/network.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <vector>

#include "edl/base/text.h"
#include "edl/os/posix/parts.h"

namespace edl::os {
namespace {

namespace asio = boost::asio;
using SystemCode = boost::system::error_code;
using Endpoint = asio::generic::stream_protocol::endpoint;

constexpr auto kAcceptBackoff = 100ms;  // when the process has no descriptor left
constexpr int kBacklog = 1024;
// Between processes of one machine nothing is gained by more on its way than a cache holds.
constexpr int kLocalSendBytes = 512 << 10;

// An address that needs no name service: an IP number, localhost or a Unix path.
Result<Endpoint> plain_endpoint(const Address& address) {
  if (address.is_unix()) return Endpoint(asio::local::stream_protocol::endpoint(address.path));
  SystemCode failed;
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  const auto number = asio::ip::make_address(host, failed);
  if (!failed) return Endpoint(asio::ip::tcp::endpoint(number, address.port));
  return Error{Code::kNotFound, text(address.host, " is not an IP number")};
}

std::string endpoint_text(const Endpoint& endpoint) {
  Address address;
  if (endpoint.data()->sa_family == AF_UNIX) {
    const auto& name = *reinterpret_cast<const sockaddr_un*>(endpoint.data());
    return name.sun_path[0] == 0 ? "a local process" : text("unix:", name.sun_path);
  }
  asio::ip::tcp::endpoint ip;
  ip.resize(endpoint.size());
  std::memcpy(ip.data(), endpoint.data(), endpoint.size());
  return address_text({ip.address().to_string(), ip.port(), {}});
}

Address address_of(int socket, const Address& asked) {
  if (asked.is_unix()) return asked;
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  EDL_CHECK(::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length) == 0);
  const in_port_t port = name.ss_family == AF_INET6
                             ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                             : reinterpret_cast<sockaddr_in&>(name).sin_port;
  return {asked.host, ntohs(port), {}};
}

ConstBytes ip_number(const sockaddr* name) {
  if (name->sa_family == AF_INET) {
    return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in*>(name)->sin_addr, 1));
  }
  return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in6*>(name)->sin6_addr, 1));
}

// Both ends have the same address.
bool is_on_this_machine(int socket, const Endpoint& peer) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) return false;
  if (own.ss_family != peer.data()->sa_family) return false;
  return std::ranges::equal(ip_number(reinterpret_cast<sockaddr*>(&own)), ip_number(peer.data()));
}

void prepare_socket(int socket, const Endpoint& peer) {
  if (peer.data()->sa_family == AF_UNIX) return;
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!is_on_this_machine(socket, peer)) return;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kLocalSendBytes, sizeof kLocalSendBytes);
}

// True when somebody accepts on this Unix path.
bool in_use(const Endpoint& endpoint) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.number(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0 ||
         errno == EAGAIN;
}

Result<Descriptor> bound_socket(const Endpoint& endpoint, const Address& address) {
  Descriptor socket(
      ::socket(endpoint.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return os_error(errno, "make a socket");
  const int on = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto length = static_cast<socklen_t>(endpoint.size());
  int failed = ::bind(socket.number(), endpoint.data(), length) == 0 ? 0 : errno;
  if (failed == EADDRINUSE && address.is_unix() && !in_use(endpoint)) {
    ::unlink(address.path.c_str());
    failed = ::bind(socket.number(), endpoint.data(), length) == 0 ? 0 : errno;
  }
  if (failed == 0 && ::listen(socket.number(), kBacklog) != 0) failed = errno;
  if (failed != 0) return os_error(failed, text("listen on ", address));
  return socket;
}

class PosixListener final : public Listener {
 public:
  PosixListener(asio::io_context& loop, Descriptor socket, Address address, Accept accept)
      : state_(std::make_shared<State>(loop, socket.release())), address_(std::move(address)) {
    state_->accept = std::move(accept);
    wait(state_);
  }
  ~PosixListener() override {
    state_->open = false;
    SystemCode ignored;
    state_->socket.close(ignored);
    if (address_.is_unix()) ::unlink(address_.path.c_str());
  }

  Address address() const override { return address_; }

 private:
  struct State {
    State(asio::io_context& l, int number) : loop(l), socket(l, number), pause(l) {}
    asio::io_context& loop;
    asio::posix::stream_descriptor socket;
    asio::steady_timer pause;
    Accept accept;
    bool open = true;
  };

  static void wait(const std::shared_ptr<State>& state) {
    state->socket.async_wait(asio::posix::stream_descriptor::wait_read, [state](SystemCode failed) {
      if (state->open && !failed) accept_all(state);
    });
  }

  static void accept_all(const std::shared_ptr<State>& state) {
    while (state->open) {
      Endpoint peer;
      auto length = static_cast<socklen_t>(peer.capacity());
      Descriptor socket(
          ::accept4(state->socket.native_handle(), peer.data(), &length, SOCK_CLOEXEC));
      if (!socket.valid()) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        return errno == EAGAIN ? wait(state) : wait_after_pause(state);
      }
      peer.resize(length);
      prepare_socket(socket.number(), peer);
      state->accept(posix_stream(state->loop, std::move(socket), endpoint_text(peer)));
    }
  }

  static void wait_after_pause(const std::shared_ptr<State>& state) {
    state->pause.expires_after(kAcceptBackoff);
    state->pause.async_wait([state](SystemCode) {
      if (state->open) wait(state);
    });
  }

  std::shared_ptr<State> state_;
  Address address_;
};

// One attempt to connect; shared by its handlers, ended by `stop`.
struct Attempt : std::enable_shared_from_this<Attempt> {
  Attempt(asio::io_context& l, Address where, ConnectDone then)
      : loop(l), address(std::move(where)), done(std::move(then)), socket(l), timer(l), names(l) {}

  void start(Duration limit) {
    timer.expires_after(limit);
    timer.async_wait([self = shared_from_this(), limit](SystemCode cancelled) {
      if (cancelled) return;
      self->answer(
          Error{Code::kTimeout, text("cannot connect to ", self->address, " within ", limit)});
    });
    const auto endpoint = plain_endpoint(address);
    if (endpoint.ok()) return connect(*endpoint);
    names.async_resolve(address.host, std::to_string(address.port),
                        [self = shared_from_this()](SystemCode failed, const auto& found) {
                          if (self->over) return;
                          if (failed) return self->fail(failed);
                          self->connect(Endpoint(found.begin()->endpoint()));
                        });
  }

  void connect(const Endpoint& endpoint) {
    socket.async_connect(endpoint, [self = shared_from_this(), endpoint](SystemCode failed) {
      if (self->over) return;
      if (failed) return self->fail(failed);
      prepare_socket(self->socket.native_handle(), endpoint);
      Descriptor connected(self->socket.release());
      self->answer(posix_stream(self->loop, std::move(connected), address_text(self->address)));
    });
  }

  void fail(const SystemCode& failed) {
    answer(Error{Code::kUnavailable, text("cannot connect to ", address, ": ", failed.message())});
  }

  void answer(Result<std::unique_ptr<Stream>> result) {
    if (over) return;
    const ConnectDone then = std::move(done);
    stop();
    then(std::move(result));
  }

  void stop() {
    over = true;
    done = nullptr;
    SystemCode ignored;
    socket.close(ignored);
    timer.cancel();
    names.cancel();
  }

  asio::io_context& loop;
  Address address;
  ConnectDone done;
  Socket socket;
  asio::steady_timer timer;
  asio::ip::tcp::resolver names;
  bool over = false;
};

class AttemptOperation final : public Pending::Operation {
 public:
  explicit AttemptOperation(std::shared_ptr<Attempt> attempt) : attempt_(std::move(attempt)) {}
  ~AttemptOperation() override { attempt_->stop(); }

 private:
  std::shared_ptr<Attempt> attempt_;
};

class PosixNetwork final : public Network {
 public:
  explicit PosixNetwork(asio::io_context& loop) : loop_(loop) {}

  Result<std::unique_ptr<Listener>> listen(const Address& address, Accept accept) override {
    EDL_TRY(const Endpoint endpoint, plain_endpoint(address));
    EDL_TRY(Descriptor socket, bound_socket(endpoint, address));
    Address bound = address_of(socket.number(), address);
    return std::make_unique<PosixListener>(loop_, std::move(socket), std::move(bound),
                                           std::move(accept));
  }

  Pending connect(const Address& address, Duration limit, ConnectDone done) override {
    auto attempt = std::make_shared<Attempt>(loop_, address, std::move(done));
    attempt->start(limit);
    return Pending(std::make_unique<AttemptOperation>(std::move(attempt)));
  }

 private:
  asio::io_context& loop_;
};

}  // namespace

std::unique_ptr<Network> posix_network(asio::io_context& loop) {
  return std::make_unique<PosixNetwork>(loop);
}

}  // namespace edl::os
