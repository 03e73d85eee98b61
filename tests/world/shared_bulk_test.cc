// Bulk data between virtual processes of one machine, which lies in memory that both see.
#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"
#include "edl/wire/endpoint.h"

namespace edl::wire {
namespace {

using model::Generation;

constexpr std::size_t kRing = 64 << 10;

EndpointOptions options_of(const std::string& id) {
  EndpointOptions options{
      .job = "job", .id = id, .secret = Secret::make(bytes_of("the secret of the job")).value()};
  options.connection.shared_memory = std::make_shared<SharedMemoryBudget>(
      SharedMemoryBudget{.ring_bytes = kRing, .placed_bytes_min = 1000, .bytes_left = kRing});
  return options;
}

// Keeps whole bulk frames that it gets.
struct Party final : os::Program {
  Party(os::System& system, const EndpointOptions& options)
      : budget(options.connection.shared_memory), endpoint(system, options) {}

  void take(std::unique_ptr<Connection> made) {
    connection = std::move(made);
    connection->receive_bulk([this](const Header& header, std::uint64_t offset, ConstBytes piece) {
      if (offset == 0) frames.push_back({header, nullptr, {}});
      Bytes& payload = frames.back().payload;
      payload.insert(payload.end(), piece.begin(), piece.end());
    });
    connection->start([](const Frame&) {},
                      [this](const Error& error) {
                        closed = error.message;
                        connection.reset();
                      });
  }

  std::shared_ptr<SharedMemoryBudget> budget;
  Endpoint endpoint;
  std::unique_ptr<Connection> connection;
  std::vector<Frame> frames;
  std::string closed;
  os::Pending attempt;
};

struct Stage {
  // `neighbours`: on one machine.
  explicit Stage(bool neighbours = true) : world({.seed = 5}) {
    const int node = world.add_node("server");
    const int other = world.add_node("other");
    world.install("server", [this](os::System& system, const os::Arguments&) {
      auto party = std::make_unique<Party>(system, options_of("server"));
      server = party.get();
      const auto listening = server->endpoint.listen(
          {"0.0.0.0", 80, {}}, [this](auto made) { server->take(std::move(made)); });
      EDL_CHECK(listening.ok());
      return party;
    });
    world.install("client", [this](os::System& system, const os::Arguments&) {
      auto party = std::make_unique<Party>(system, options_of("client"));
      client = party.get();
      client->attempt = client->endpoint.connect(
          {"server", 80, {}}, 5s, [this](auto made) { client->take(std::move(made).value()); });
      return party;
    });
    world.start(node, {"server"});
    world.run_for(100ms);
    world.start(neighbours ? node : other, {"client"});
    world.run_for(200ms);
  }

  // Both know of each other's memory after this.
  void share() {
    send(1000, 0);
    world.run_for(200ms);
  }
  void send(std::size_t bytes, std::uint64_t generation) {
    Bytes payload(bytes);
    for (std::byte& one : payload) one = static_cast<std::byte>(world.random().next());
    sent.push_back(std::make_unique<Bytes>(std::move(payload)));
    const MessageHead head{
        .type = kFirstBulkType, .generation = Generation(generation), .first = sent.size() - 1};
    EXPECT_TRUE(client->connection->send_bulk(head, *sent.back(), [this] { ++told; }).ok());
  }
  void expect_all() {
    ASSERT_EQ(server->frames.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(server->frames[i].header.first, i);
      EXPECT_TRUE(server->frames[i].payload == *sent[i]) << i;
    }
    EXPECT_EQ(told, sent.size());
  }

  os::VirtualWorld world;
  Party* server = nullptr;
  Party* client = nullptr;
  std::vector<std::unique_ptr<Bytes>> sent;
  std::size_t told = 0;
};

TEST(SharedBulk, arrives_whole_and_in_order_whatever_its_size) {
  Stage stage;
  stage.share();
  for (int i = 0; i < 300; ++i) stage.send(stage.world.random().below(kRing / 2), 0);
  stage.world.run_for(60s);
  stage.expect_all();
  EXPECT_GT(stage.client->connection->shared_bytes(), 10 * kRing) << "several times around";
}

TEST(SharedBulk, goes_by_the_stream_between_two_machines) {
  Stage stage(false);
  stage.share();
  for (int i = 0; i < 20; ++i) stage.send(10'000, 0);
  stage.world.run_for(60s);
  stage.expect_all();
  EXPECT_EQ(stage.client->connection->shared_bytes(), 0u);
}

TEST(SharedBulk, who_is_lent_memory_lends_its_own) {
  Stage stage;
  stage.share();
  Bytes payload(10'000);
  EXPECT_TRUE(stage.server->connection->send_bulk({.type = kFirstBulkType}, payload, {}).ok());
  EXPECT_GE(stage.server->connection->shared_bytes(), payload.size()) << "from the first frame on";
}

TEST(SharedBulk, of_another_view_waits_or_is_dropped) {
  Stage stage;
  stage.share();
  stage.server->connection->enter(Generation(5));
  stage.send(10'000, 4);
  stage.send(10'000, 6);
  stage.send(10'000, 5);
  for (int i = 0; i < 20; ++i) stage.send(10'000, 6);  // more than the ring holds
  stage.world.run_for(10s);
  ASSERT_EQ(stage.server->frames.size(), 2u);
  EXPECT_EQ(stage.server->frames[1].header.first, 3u);
  stage.server->connection->enter(Generation(6));
  ASSERT_EQ(stage.server->frames.size(), 23u);
  EXPECT_EQ(stage.server->frames[2].header.first, 2u);
  EXPECT_TRUE(stage.server->frames[2].payload == *stage.sent[2]);
  EXPECT_TRUE(stage.server->frames[22].payload == *stage.sent[23]);
}

TEST(SharedBulk, waits_for_a_receiver_that_is_stopped) {
  Stage stage;
  stage.share();
  const int server = stage.world.processes_on(0)[0];
  stage.world.send_signal(server, os::Signal::kStop);
  for (int i = 0; i < 40; ++i) stage.send(10'000, 0);
  stage.world.run_for(5s);
  EXPECT_LT(stage.told, 10u) << "no more than fits the ring";
  stage.world.send_signal(server, os::Signal::kContinue);
  stage.world.run_for(5s);
  stage.expect_all();
}

TEST(SharedBulk, stays_readable_when_its_sender_dies) {
  Stage stage;
  stage.share();
  stage.send(10'000, 0);
  stage.world.run_for(Duration(1us));
  stage.world.send_signal(stage.world.processes_on(0)[1], os::Signal::kKill);
  stage.world.run_for(5s);
  EXPECT_NE(stage.server->closed, "");
  for (std::size_t i = 0; i < stage.server->frames.size(); ++i) {
    EXPECT_TRUE(stage.server->frames[i].payload == *stage.sent[i]);
  }
}

TEST(SharedBulk, is_given_back_with_the_connection) {
  Stage stage;
  stage.share();
  const auto budget = stage.client->budget;
  EXPECT_EQ(budget->bytes_left, 0u);
  stage.client->connection.reset();
  EXPECT_EQ(budget->bytes_left, kRing);
}

}  // namespace
}  // namespace edl::wire
