// Thousands of streams that have nothing to say, on one loop of the real machine.
#include <malloc.h>

#include "edl/base/text.h"
#include "edl/http/scene_test.h"

namespace edl::http {
namespace {

constexpr std::size_t kPeers = 2000;
constexpr std::size_t kOwnBytesMax = 4 << 10;  // of a connection, on top of its socket

std::size_t allocated_bytes() { return ::mallinfo2().uordblks; }

// A peer that asks once and counts the pieces that come.
struct Listening {
  Listening(os::System& system, const os::Address& address, std::function<void()> on_piece)
      : on_piece_(std::move(on_piece)), buffer_(256) {
    connecting_ = system.network().connect(address, 30s, [this](auto stream) {
      ASSERT_TRUE(stream.ok()) << stream.error().message;
      stream_ = std::move(stream).value();
      const ConstBytes bytes = bytes_of("GET / HTTP/1.1\r\n\r\n");
      stream_->write(std::span(&bytes, 1), [](const auto&) {});
      read();
    });
  }
  void read() {
    stream_->read(buffer_, [this](Result<std::size_t> got) {
      ASSERT_TRUE(got.ok() && *got > 0);
      if (text_of(ConstBytes(buffer_).first(*got)).ends_with("piece\r\n")) on_piece_();
      read();
    });
  }
  std::function<void()> on_piece_;
  Bytes buffer_;
  os::Pending connecting_;
  std::unique_ptr<os::Stream> stream_;
};

// First against a listener that only answers, then against a server: the difference is ours.
struct Crowd : Scene {
  Crowd(os::System& s, os::Stage& w) : Scene(s, w) {
    before = allocated_bytes();
    listener = system.network()
                   .listen({"127.0.0.1", 0, {}},
                           [this](std::unique_ptr<os::Stream> stream) {
                             const ConstBytes bytes = bytes_of("piece\r\n");
                             stream->write(std::span(&bytes, 1), [](const auto&) {});
                             stream->read(space, [](const auto&) {});
                             bare.push_back(std::move(stream));
                           })
                   .value();
    come(listener->address(), [this] { serve(); });
  }
  void come(const os::Address& address, std::function<void()> all_here) {
    pieces = 0;
    for (std::size_t i = 0; i < kPeers; ++i) {
      crowd.push_back(std::make_unique<Listening>(system, address, [this, all_here] {
        if (++pieces == kPeers) system.post(all_here);
      }));
    }
  }
  void serve() {
    without_us = allocated_bytes() - before;
    crowd.clear();
    bare.clear();
    start([this](std::unique_ptr<Exchange> exchange) {
      exchange->begin(200, {{"Content-Type", "text/event-stream"}});
      exchange->send("piece");
      exchanges.push_back(std::move(exchange));
    });
    before = allocated_bytes();
    come(server->address(), [this] { wake(); });
  }
  void wake() {
    const std::size_t with_us = allocated_bytes() - before;
    const std::size_t ours = with_us > without_us ? (with_us - without_us) / kPeers : 0;
    std::printf("%zu idle streams: %zu bytes each, beside %zu for the sockets of both ends\n",
                server->connections(), ours, without_us / kPeers);
    EXPECT_LT(ours, kOwnBytesMax);
    EXPECT_EQ(exchanges.size(), kPeers);
    if (again) return done();
    again = true;
    pieces = 0;
    for (const auto& exchange : exchanges) exchange->send("piece");
  }

  Bytes space = Bytes(1);
  std::size_t before = 0;
  std::size_t without_us = 0;
  std::size_t pieces = 0;
  bool again = false;
  std::unique_ptr<os::Listener> listener;
  std::vector<std::unique_ptr<os::Stream>> bare;
  std::vector<std::unique_ptr<Listening>> crowd;
};

TEST(HttpIdle, thousands_of_idle_streams_cost_little_memory) {
  os::PosixStage stage;
  EXPECT_TRUE(
      stage.play([&stage](os::System& system) { return std::make_unique<Crowd>(system, stage); }));
}

// One request after the other, each on the connection of the one before.
struct PingPong : Scene {
  PingPong(os::System& s, os::Stage& w) : Scene(s, w), begin(s.now()) {
    start([](std::unique_ptr<Exchange> exchange) { exchange->answer({200, {}, "pong"}); });
    next();
  }
  void next() {
    if (count++ == kRounds) {
      std::printf("%.0f requests in a second, one after the other\n",
                  kRounds / seconds(system.now() - begin));
      return done();
    }
    call = client().send(url(), {"POST", "/", {}, "ping"}, 20s, [this](auto answer) {
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      next();
    });
  }
  static constexpr int kRounds = 5000;
  const Time begin;
  int count = 0;
  os::Pending call;
};

TEST(HttpIdle, requests_follow_each_other) {
  os::PosixStage stage;
  EXPECT_TRUE(stage.play(
      [&stage](os::System& system) { return std::make_unique<PingPong>(system, stage); }));
}

}  // namespace
}  // namespace edl::http
