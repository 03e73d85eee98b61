// For tests: a server, a client and peers that speak bytes, in either world.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edl/http/client.h"
#include "edl/http/server.h"
#include "edl/os/stage_test.h"

namespace edl::http {

// Sends bytes as they are and keeps what comes back.
class RawPeer {
 public:
  RawPeer(os::System& system, const os::Address& address) : buffer_(4096) {
    connecting_ = system.network().connect(address, 10s, [this](auto stream) {
      ASSERT_TRUE(stream.ok()) << stream.error().message;
      stream_ = std::move(stream).value();
      read();
      write();
    });
  }

  // Each piece is one write.
  void send(std::vector<std::string> pieces) {
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
    if (stream_ && !writing_) write();
  }
  void close() {
    closed_ = true;
    stream_->close();
  }
  // Called with all that came, whenever something did; then when the other end closed.
  std::function<void(const std::string& all)> on_text;
  std::function<void()> on_end;
  std::string received;

 private:
  void read() {
    stream_->read(buffer_, [this](Result<std::size_t> got) {
      if (!got.ok() || *got == 0) {
        if (on_end) on_end();
        return;
      }
      received += text_of(ConstBytes(buffer_).first(*got));
      if (on_text) on_text(received);
      if (!closed_) read();
    });
  }
  void write() {
    writing_ = next_ < pieces_.size();
    if (!writing_) return;
    const ConstBytes piece = bytes_of(pieces_[next_++]);
    stream_->write(std::span(&piece, 1), [this](const Result<void>& done) {
      if (done.ok()) write();  // it may be refused before it sent all
    });
  }

  Bytes buffer_;
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  bool writing_ = false;
  bool closed_ = false;
  os::Pending connecting_;
  std::unique_ptr<os::Stream> stream_;
};

struct Scene : os::Program {
  Scene(os::System& s, os::Stage& where) : system{s}, stage(where) {}

  void start(Server::Serve serve, ServerOptions options = {}) {
    if (options.address == os::Address{}) options.address = {"127.0.0.1", 0, {}};
    auto started = Server::start(system, std::move(options), std::move(serve));
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }
  Url url() const { return {server->address(), false}; }
  void ask(Request request, ResponseDone done) {
    calls.push_back(client().send(url(), std::move(request), 20s, std::move(done)));
  }
  Client& client() {
    if (!client_) client_ = std::make_unique<Client>(system, client_options);
    return *client_;
  }
  RawPeer& raw() {
    peers.push_back(std::make_unique<RawPeer>(system, server->address()));
    return *peers.back();
  }
  void done() { system.finish(0); }

  os::System& system;
  os::Stage& stage;
  ClientOptions client_options;
  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::unique_ptr<Client> client_;
  std::vector<os::Pending> calls;
  os::Pending later;
};

inline Server::Serve echo() {
  return [](std::unique_ptr<Exchange> exchange) {
    const Request& request = exchange->request();
    exchange->answer({200, {{"X-Target", request.target}}, request.method + " " + request.body});
  };
}

}  // namespace edl::http
