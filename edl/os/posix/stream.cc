// Streams on Asio's sockets. Handlers share the socket's state, so that a stream can be destroyed
// while the loop still holds them; a closed state calls nobody back.
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <vector>

#include "edl/base/text.h"
#include "edl/os/posix/memory.h"
#include "edl/os/posix/packet.h"
#include "edl/os/posix/parts.h"

namespace edl::os {
namespace {

namespace asio = boost::asio;
using SystemCode = boost::system::error_code;

constexpr std::size_t kWriteBytes = 4 << 20;  // in one call of the kernel

struct State {
  State(asio::io_context& loop, std::string who) : socket(loop), peer(std::move(who)) {}
  Socket socket;
  std::string peer;
  bool open = true;
  bool is_local = false;

  Error error(const SystemCode& code, std::string_view what) const {
    return os_error(code.value(), text(what, " ", peer));
  }
};

// A machine talks with itself from the address that it talks to.
bool is_local(int socket, const sockaddr_storage& own) {
  if (own.ss_family == AF_UNIX) return true;
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return false;
  if (peer.ss_family != own.ss_family) return false;
  if (own.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(peer).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr;
  }
  return own.ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(own).sin6_addr, sizeof(in6_addr)) == 0;
}

Result<Descriptor> receive_descriptor(int socket) {
  EDL_TRY(Packet packet, receive_packet(socket, 1));
  if (packet.bytes.empty()) {
    return Error{Code::kUnavailable, "cannot receive memory: the other end has closed"};
  }
  if (packet.descriptors.size() != 1) {
    return Error{Code::kInvalid, "cannot receive memory: the other end sent plain bytes"};
  }
  return std::move(packet.descriptors[0]);
}

class PosixStream final : public Stream {
 public:
  explicit PosixStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~PosixStream() override { close(); }

  void read(ByteSpan into, ReadDone done) override {
    const auto finish = [state = state_, done = std::move(done)](SystemCode code, std::size_t got) {
      if (!state->open) return;
      if (code == asio::error::eof) return done(std::size_t{0});
      if (code) return done(state->error(code, "read from"));
      done(got);
    };
    state_->socket.async_read_some(asio::buffer(into.data(), into.size()), finish);
  }

  std::size_t read_now(ByteSpan into) override {
    if (!state_->open) return 0;
    const ssize_t got =
        ::recv(state_->socket.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  void write(std::span<const ConstBytes> pieces, WriteDone done) override {
    EDL_CHECK(pieces.size() <= kPiecesMax);
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(pieces.size());
    for (const ConstBytes piece : pieces) buffers.emplace_back(piece.data(), piece.size());
    const auto finish = [state = state_, done = std::move(done)](SystemCode code, std::size_t) {
      if (!state->open) return;
      if (code) return done(state->error(code, "write to"));
      done({});
    };
    // Asio's own condition cuts everything into 64 KiB, with a look at the loop between any two.
    const auto more = [](const SystemCode& code, std::size_t) {
      return code ? std::size_t{0} : kWriteBytes;
    };
    asio::async_write(state_->socket, buffers, more, finish);
  }

  void close() override {
    state_->open = false;
    SystemCode ignored;
    state_->socket.close(ignored);
  }

  void send_memory(const Memory& memory, WriteDone done) override {
    const int descriptor = static_cast<const PosixMemory&>(memory).descriptor();
    const auto finish = [state = state_, descriptor, done = std::move(done)](SystemCode code) {
      if (!state->open) return;
      const int failed = code ? code.value()
                              : send_packet(state->socket.native_handle(), bytes_of("m"),
                                            std::span(&descriptor, 1));
      if (failed != 0) return done(os_error(failed, text("send memory to ", state->peer)));
      done({});
    };
    state_->socket.async_wait(Socket::wait_write, finish);
  }

  void receive_memory(MemoryDone done) override {
    const auto finish = [state = state_, done = std::move(done)](SystemCode code) {
      if (!state->open) return;
      if (code) return done(state->error(code, "receive memory from"));
      auto descriptor = receive_descriptor(state->socket.native_handle());
      if (!descriptor.ok()) return done(descriptor.error());
      auto memory = PosixMemory::received(std::move(descriptor).value());
      if (!memory.ok()) return done(memory.error());
      done(std::unique_ptr<Memory>(std::move(memory).value()));
    };
    state_->socket.async_wait(Socket::wait_read, finish);
  }

  bool is_local() const override { return state_->is_local; }
  std::string peer() const override { return state_->peer; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<Stream> posix_stream(asio::io_context& loop, Descriptor socket, std::string peer) {
  auto state = std::make_shared<State>(loop, std::move(peer));
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  EDL_CHECK(::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&name), &length) == 0);
  SystemCode failed;
  state->socket.assign(asio::generic::stream_protocol(name.ss_family, 0), socket.release(), failed);
  EDL_CHECK(!failed, failed.message());
  state->socket.non_blocking(true, failed);
  state->is_local = is_local(state->socket.native_handle(), name);
  return std::make_unique<PosixStream>(std::move(state));
}

}  // namespace edl::os
