// Connections between real sockets: what must not leak, and how large things may be.
#include <dirent.h>
#include <gtest/gtest.h>

#include "edl/os/posix/system.h"
#include "edl/os/thread.h"
#include "edl/wire/endpoint.h"

namespace edl::wire {
namespace {

int descriptor_count() {
  DIR* folder = ::opendir("/proc/self/fd");
  int count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

EndpointOptions options_of(std::string id, bool shares = false) {
  EndpointOptions options{.job = "job",
                          .id = std::move(id),
                          .secret = Secret::make(bytes_of("the job's secret")).value()};
  if (shares) options.connection.shared_memory = std::make_shared<SharedMemoryBudget>();
  return options;
}

struct Both {
  explicit Both(os::System& system, bool share = false)
      : server(system, options_of("server", share)), client(system, options_of("client", share)) {}
  Endpoint server;
  Endpoint client;
  os::Pending attempt;
  std::unique_ptr<Connection> accepted;
  std::unique_ptr<Connection> connected;
};

// Connects, waits for a message, disconnects; again and again.
struct Churn : Both {
  Churn(os::System& s, int n) : Both(s), system(s), left(n) {
    address =
        server
            .listen({"127.0.0.1", 0, {}},
                    [this](auto made) {
                      accepted = std::move(made);
                      accepted->start([](Frame) {}, [this](const Error&) { accepted.reset(); });
                      EXPECT_TRUE(accepted->send({.type = 1}).ok());
                    })
            .value();
    next();
  }
  void next() {
    if (left-- == 0) return system.finish(0);
    attempt = client.connect(address, 10s, [this](auto made) {
      if (!made.ok()) {
        ADD_FAILURE() << made.error().message;
        return system.finish(1);
      }
      connected = std::move(made).value();
      connected->start(
          [this](Frame) {
            connected.reset();
            system.post([this] { next(); });
          },
          [](const Error&) {});
    });
  }
  os::System& system;
  os::Address address;
  int left;
};

TEST(RealWire, ten_thousand_connections_leave_no_descriptor_and_no_thread) {
  const auto sink = silent_log_sink();
  const int threads = os::thread_count();
  const int before = descriptor_count();
  {
    const auto system = os::posix_system({.log_sink = sink.get()});
    const os::Pending limit = system->after(100s, [&] { system->finish(99); });
    int inside = 0;
    Churn churn(*system, 10'000);
    const os::Pending look = system->after(50ms, [&] { inside = descriptor_count(); });
    EXPECT_EQ(system->run(), 0);
    EXPECT_LT(descriptor_count(), before + 16) << "while it still runs";
    EXPECT_GT(inside, before);
  }
  EXPECT_EQ(descriptor_count(), before);
  EXPECT_EQ(os::thread_count(), threads);
}

TEST(RealWire, a_large_payload_arrives_whole) {
  const auto sink = silent_log_sink();
  const auto system = os::posix_system({.log_sink = sink.get()});
  const os::Pending limit = system->after(100s, [&] { system->finish(99); });
  EndpointOptions wide = options_of("client");
  wide.connection.send_queue_bytes_max = std::uint64_t{1} << 30;
  Endpoint client(*system, wide);
  Endpoint server(*system, options_of("server"));
  std::unique_ptr<Connection> accepted;
  std::unique_ptr<Connection> connected;
  Bytes payload(100'000'000);
  for (std::size_t i = 0; i < payload.size(); i += 1000)
    payload[i] = static_cast<std::byte>(i / 1000);
  const auto address = server.listen({"127.0.0.1", 0, {}}, [&](auto made) {
    accepted = std::move(made);
    accepted->start(
        [&](const Frame& frame) {
          EXPECT_TRUE(frame.payload == payload);
          system->finish(0);
        },
        [](const Error&) {});
  });
  const os::Pending attempt = client.connect(address.value(), 10s, [&](auto made) {
    connected = std::move(made).value();
    connected->start([](const Frame&) {}, [](const Error&) {});
    EXPECT_TRUE(connected->send({}, nullptr, payload).ok());
  });
  EXPECT_EQ(system->run(), 0);
}

// By the stream, and through shared memory.
class RealBulk : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ways, RealBulk, testing::Bool());

TEST_P(RealBulk, arrives_whole_and_in_order_beside_messages) {
  const auto sink = silent_log_sink();
  const auto system = os::posix_system({.log_sink = sink.get()});
  const os::Pending limit = system->after(100s, [&] { system->finish(99); });
  Both both(*system, GetParam());
  constexpr std::size_t kChunk = 1 << 20;
  constexpr std::size_t kChunks = 100;
  Bytes data(kChunk * kChunks);
  for (std::size_t i = 0; i < data.size(); i += 100) data[i] = static_cast<std::byte>(i / 100);
  std::size_t came = 0;
  std::size_t messages = 0;
  std::size_t sent = 0;
  const auto address = both.server.listen({"127.0.0.1", 0, {}}, [&](auto made) {
    both.accepted = std::move(made);
    both.accepted->receive_bulk([&](const Header& header, std::uint64_t offset, ConstBytes piece) {
      EXPECT_EQ(header.first * kChunk + offset, came);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), data.begin() + came));
      came += piece.size();
      if (came == data.size()) (void)both.accepted->send({});
    });
    both.accepted->start([&](const Frame&) { ++messages; }, [](const Error&) {});
  });
  both.attempt = both.client.connect(address.value(), 10s, [&](auto made) {
    both.connected = std::move(made).value();
    both.connected->start([&](const Frame&) { system->finish(0); }, [](const Error&) {});
    for (std::size_t i = 0; i < kChunks; ++i) {
      const ConstBytes chunk = ConstBytes(data).subspan(i * kChunk, kChunk);
      EXPECT_TRUE(both.connected
                      ->send_bulk({.type = kFirstBulkType, .first = i}, chunk,
                                  [&] {
                                    ++sent;
                                    EXPECT_TRUE(both.connected->send({}).ok());
                                  })
                      .ok());
    }
  });
  EXPECT_EQ(system->run(), 0);
  EXPECT_EQ(came, data.size());
  EXPECT_EQ(sent, kChunks);
  EXPECT_GT(messages, kChunks / 2);
  if (GetParam()) {
    EXPECT_GT(both.connected->shared_bytes(), data.size() / 2);
  } else {
    EXPECT_EQ(both.connected->shared_bytes(), 0u);
  }
}

}  // namespace
}  // namespace edl::wire
