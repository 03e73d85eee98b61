// Connections between virtual processes, and strangers who try to get in.
#include <gtest/gtest.h>

#include "edl/base/text.h"
#include "edl/os/virtual/world.h"
#include "edl/wire/endpoint.h"

namespace edl::wire {
namespace {

using model::Generation;
using os::Arguments;
using os::Program;
using os::System;

Secret secret_of(std::string_view words) { return Secret::make(bytes_of(words)).value(); }

EndpointOptions options_of(std::string id, std::string_view secret = "the secret of the job") {
  return {.job = "job", .id = std::move(id), .secret = secret_of(secret)};
}

// A process with an endpoint that the test reaches into.
struct Party final : Program {
  Party(System& s, EndpointOptions options) : system{s}, endpoint(s, std::move(options)) {}

  void listen() {
    EDL_CHECK(
        endpoint.listen({"0.0.0.0", 80, {}}, [this](auto made) { take(std::move(made)); }).ok());
  }
  void connect() {
    attempt = endpoint.connect({"server", 80, {}}, 5s, [this](auto made) {
      if (made.ok()) return take(std::move(made).value());
      failure = made.error().message;
    });
  }
  void take(std::unique_ptr<Connection> made) {
    connection = std::move(made);
    connection->start([this](Frame frame) { frames.push_back(std::move(frame)); },
                      [this](const Error& error) {
                        closed = error.message;
                        connection.reset();
                      });
  }

  // Keeps whole bulk frames in `frames`; how many pieces they came in is counted.
  void receive_bulk() {
    connection->receive_bulk([this](const Header& header, std::uint64_t offset, ConstBytes piece) {
      ++pieces;
      if (offset == 0) bulk = {header, nullptr, {}};
      EXPECT_EQ(bulk.payload.size(), offset);
      bulk.payload.insert(bulk.payload.end(), piece.begin(), piece.end());
      if (bulk.payload.size() == header.payload_bytes) frames.push_back(std::move(bulk));
    });
  }

  System& system;
  Endpoint endpoint;
  std::unique_ptr<Connection> connection;
  std::vector<Frame> frames;
  Frame bulk;
  int pieces = 0;
  std::string closed;
  std::string failure;
  os::Pending attempt;
};

// A stranger: raw bytes, no endpoint.
struct Stranger final : Program {
  explicit Stranger(System& system) {
    attempt = system.network().connect({"server", 80, {}}, 5s, [this](auto made) {
      stream = std::move(made).value();
      read();
    });
  }
  void read() {
    stream->read(buffer, [this](Result<std::size_t> got) {
      if (!got.ok() || *got == 0) {
        ended = true;
        return;
      }
      heard.insert(heard.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
      read();
    });
  }
  void say(Bytes bytes) {
    said = std::move(bytes);
    const ConstBytes piece = said;
    stream->write(std::span(&piece, 1), [](auto) {});
  }
  Bytes buffer = Bytes(1000);
  Bytes said;
  Bytes heard;
  bool ended = false;
  std::unique_ptr<os::Stream> stream;
  os::Pending attempt;
};

struct Stage {
  explicit Stage(EndpointOptions server_options = options_of("server")) : world({.seed = 11}) {
    world.trace().listen(
        [this](Time, std::string_view, std::string_view line) { log += std::string(line) + "\n"; });
    const int node = world.add_node("server");
    world.install("server", [this, server_options](System& system, const Arguments&) {
      auto party = std::make_unique<Party>(system, server_options);
      server = party.get();
      server->listen();
      return party;
    });
    world.start(node, {"server"});
    away = world.add_node("away");
    world.run_for(100ms);
  }
  Party* party(EndpointOptions options) {
    Party* made = nullptr;
    world.install("party", [&](System& system, const Arguments&) {
      auto party = std::make_unique<Party>(system, options);
      made = party.get();
      made->connect();
      return party;
    });
    world.start(away, {"party"});
    world.run_for(200ms);
    return made;
  }
  Stranger* stranger() {
    Stranger* made = nullptr;
    world.install("stranger", [&](System& system, const Arguments&) {
      auto stranger = std::make_unique<Stranger>(system);
      made = stranger.get();
      return stranger;
    });
    world.start(away, {"stranger"});
    world.run_for(100ms);
    return made;
  }

  std::string log;
  Party* server = nullptr;
  int away = 0;
  os::VirtualWorld world;
};

Bytes frame_bytes(Header header, const Json& body) {
  const std::string words = seal(header, body, 0);
  const HeaderBytes head = encode(header);
  return copy_bytes(bytes_of(text(text_of(head), words)));
}

TEST(Wire, two_who_hold_the_secret_exchange_messages) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  ASSERT_TRUE(client->connection && stage.server->connection);
  EXPECT_EQ(client->connection->peer_id(), "server");
  EXPECT_EQ(stage.server->connection->peer_id(), "client");
  EXPECT_TRUE(
      client->connection->send({.type = 7, .first = 1}, {{"hello", "there"}}, Bytes(300'000)).ok());
  stage.world.run_for(5s);
  ASSERT_EQ(stage.server->frames.size(), 1u);
  EXPECT_EQ(stage.server->frames[0].header.type, 7u);
  EXPECT_EQ(stage.server->frames[0].body["hello"], "there");
  EXPECT_EQ(stage.server->frames[0].payload.size(), 300'000u);
}

TEST(Wire, a_wrong_secret_is_refused_and_the_reason_logged) {
  Stage stage;
  Party* client = stage.party(options_of("client", "some other secret!"));
  EXPECT_EQ(client->failure, "cannot join server:80: the job's secret does not match");
  EXPECT_EQ(stage.server->connection, nullptr);
  EXPECT_EQ(stage.server->endpoint.refused(), 1u);
  EXPECT_NE(stage.log.find("the job's secret does not match"), std::string::npos) << stage.log;
}

TEST(Wire, bytes_that_are_no_frames_end_the_connection) {
  for (const std::string& junk :
       {std::string("GET / HTTP/1.1\r\nHost: server\r\nConnection: keep-alive\r\n\r\n____"),
        std::string(1000, '\0'), std::string(5000, 'E')}) {
    Stage stage;
    Stranger* stranger = stage.stranger();
    stranger->say(copy_bytes(bytes_of(junk)));
    stage.world.run_for(100ms);
    EXPECT_TRUE(stranger->ended);
    EXPECT_NE(stage.log.find("not a frame"), std::string::npos) << stage.log;
  }
}

TEST(Wire, a_huge_length_is_refused_before_the_secret_is_proven) {
  Stage stage;
  Header header;
  header.kind = Kind::kHello;
  header.job = job_tag("job");
  header.payload_bytes = std::uint64_t{1} << 40;
  const HeaderBytes bytes = encode(header);
  Stranger* stranger = stage.stranger();
  stranger->say(Bytes(bytes.begin(), bytes.end()));
  stage.world.run_for(100ms);
  EXPECT_TRUE(stranger->ended);
  EXPECT_NE(stage.log.find("a payload of 1099511627776 bytes, the limit is 0"), std::string::npos);
}

TEST(Wire, a_peer_that_says_nothing_is_dropped_in_time) {
  Stage stage;
  Stranger* stranger = stage.stranger();
  stage.world.run_for(4s);
  EXPECT_FALSE(stranger->ended);
  stage.world.run_for(2s);
  EXPECT_TRUE(stranger->ended);
  EXPECT_NE(stage.log.find("it did not prove the secret within 5 s"), std::string::npos)
      << stage.log;
}

TEST(Wire, a_recorded_hello_is_refused) {
  Stage stage;
  Header header;
  header.kind = Kind::kHello;
  header.job = job_tag("job");
  const Bytes hello = frame_bytes(header, {{"id", "x"}, {"nonce", std::string(64, 'a')}});
  Stranger* first = stage.stranger();
  first->say(hello);
  stage.world.run_for(100ms);
  EXPECT_FALSE(first->ended) << "challenged";
  EXPECT_GT(first->heard.size(), kHeaderBytes);
  Stranger* second = stage.stranger();
  second->say(hello);
  stage.world.run_for(100ms);
  EXPECT_TRUE(second->ended);
  EXPECT_NE(stage.log.find("a replayed conversation"), std::string::npos) << stage.log;
}

TEST(Wire, only_so_many_strangers_at_a_time) {
  EndpointOptions options = options_of("server");
  options.strangers_max = 3;
  Stage stage(options);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(stage.stranger()->ended);
  EXPECT_TRUE(stage.stranger()->ended);
  stage.world.run_for(10s);
  EXPECT_FALSE(stage.stranger()->ended) << "the first three were dropped in time";
}

TEST(Wire, frames_of_older_views_are_dropped_and_of_newer_ones_wait) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  stage.server->connection->enter(Generation(5));
  for (const std::uint64_t generation : {4u, 5u, 6u, 0u}) {
    EXPECT_TRUE(
        client->connection->send({.generation = Generation(generation), .first = generation}).ok());
  }
  stage.world.run_for(1s);
  std::vector<std::uint64_t> seen;
  for (const Frame& frame : stage.server->frames) seen.push_back(frame.header.first);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{5, 0}));
  stage.server->connection->enter(Generation(6));
  EXPECT_EQ(stage.server->frames.back().header.first, 6u);
}

TEST(Wire, a_frame_of_another_job_ends_the_connection) {
  Stage stage;
  stage.party(options_of("client"));
  EndpointOptions other = options_of("client");
  other.job = "other";
  Party* stranger = stage.party(other);
  EXPECT_NE(stranger->failure.find("a frame of another job"), std::string::npos)
      << stranger->failure;
}

TEST(Wire, silence_is_noticed_and_pings_break_it) {
  EndpointOptions options = options_of("server");
  options.connection.silence_max = 2s;
  Stage stage(options);
  EndpointOptions pinging = options_of("client");
  pinging.connection.ping_every = 500ms;
  stage.party(pinging);
  stage.world.run_for(30s);
  ASSERT_TRUE(stage.server->connection) << stage.server->closed;
  stage.world.cut_link(stage.away, 0);
  stage.world.run_for(3s);
  EXPECT_EQ(stage.server->closed, "client was silent for 2 s");
}

TEST(Wire, a_full_send_queue_refuses_and_says_so) {
  Stage stage;
  EndpointOptions options = options_of("client");
  options.connection.send_queue_bytes_max = 1'000'000;
  Party* client = stage.party(options);
  stage.world.cut_link(stage.away, 0);
  Result<void> sent;
  int accepted = 0;
  while (sent.ok() && accepted < 100) {
    sent = client->connection->send({}, nullptr, Bytes(100'000));
    accepted += sent.ok() ? 1 : 0;
  }
  EXPECT_EQ(sent.error().code, Code::kExhausted);
  EXPECT_LT(accepted, 15);
}

TEST(Wire, the_death_of_the_other_end_is_told_once) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  stage.world.send_signal(stage.world.processes_on(0)[0], os::Signal::kKill);
  stage.world.run_for(1s);
  EXPECT_EQ(client->closed, "server:80 closed the connection");
  EXPECT_EQ(client->connection, nullptr);
}

MessageHead bulk_head(std::uint64_t generation, std::uint64_t number) {
  return {.type = kFirstBulkType, .generation = Generation(generation), .first = number};
}

std::vector<std::uint64_t> numbers(const std::vector<Frame>& frames) {
  std::vector<std::uint64_t> out;
  for (const Frame& frame : frames) out.push_back(frame.header.first);
  return out;
}
using Numbers = std::vector<std::uint64_t>;

TEST(WireBulk, arrives_in_pieces_and_messages_overtake_it) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  stage.server->receive_bulk();
  Bytes data(1'000'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 / 3);
  Numbers sent;
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(
        client->connection->send_bulk(bulk_head(0, i), data, [&, i] { sent.push_back(i); }).ok());
  }
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(0, 4), {}, [&] { sent.push_back(4); }).ok());
  EXPECT_TRUE(client->connection->send({.type = 1, .first = 9}).ok());
  EXPECT_TRUE(sent.empty()) << "callbacks come later";
  stage.world.run_for(20s);
  EXPECT_EQ(numbers(stage.server->frames), (Numbers{0, 9, 1, 2, 3, 4}));
  EXPECT_EQ(sent, (Numbers{0, 1, 2, 3, 4}));
  EXPECT_GT(stage.server->pieces, 10);
  for (const Frame& frame : stage.server->frames) {
    EXPECT_TRUE(frame.header.first >= 4 || frame.payload == data);
  }
}

TEST(WireBulk, is_read_to_its_place_until_its_generation_ends) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  const Bytes data(3'000'000, std::byte{3});
  Bytes memory(data.size());
  std::uint64_t got = 0;
  std::uint64_t placed = 0;
  stage.server->connection->receive_bulk(
      [&](const Header&, std::uint64_t offset, ConstBytes piece) {
        EXPECT_EQ(offset, got);
        got += piece.size();
        if (piece.data() == memory.data() + offset) placed += piece.size();
      },
      [&](const Header& header, std::uint64_t offset) {
        EXPECT_GT(offset, 0u);
        EXPECT_EQ(header.payload_bytes, memory.size());
        return ByteSpan(memory).subspan(offset);
      });
  stage.server->connection->enter(Generation(1));
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(1, 1), data).ok());
  stage.world.run_for(20s);
  EXPECT_EQ(got, data.size());
  EXPECT_GT(placed, data.size() / 20);
  EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(memory, std::byte{3})), placed);

  got = placed = 0;
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(1, 2), data).ok());
  EXPECT_TRUE(stage.world.run_until([&] { return placed > 0; }, 20s));
  EXPECT_LT(got, data.size());
  stage.server->connection->enter(Generation(2));
  std::ranges::fill(memory, std::byte{0});
  stage.world.run_for(20s);
  EXPECT_EQ(std::ranges::count(memory, std::byte{0}), std::ssize(memory))
      << "written after its end";
}

TEST(WireBulk, of_older_views_is_dropped_and_of_newer_ones_waits) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  stage.server->receive_bulk();
  stage.server->connection->enter(Generation(5));
  const Bytes data(300'000, std::byte{3});
  for (const std::uint64_t generation : {4u, 6u, 5u, 6u, 7u}) {
    EXPECT_TRUE(client->connection->send_bulk(bulk_head(generation, generation), data).ok());
  }
  EXPECT_TRUE(client->connection->send({.generation = Generation(6), .first = 60}).ok());
  stage.world.run_for(10s);
  EXPECT_EQ(numbers(stage.server->frames), Numbers{5});
  stage.server->connection->enter(Generation(6));
  EXPECT_EQ(numbers(stage.server->frames), (Numbers{5, 60, 6, 6}));
  stage.server->connection->enter(Generation(7));
  ASSERT_EQ(numbers(stage.server->frames), (Numbers{5, 60, 6, 6, 7}));
  EXPECT_EQ(stage.server->frames.back().payload, data);
}

TEST(WireBulk, a_generation_that_ends_or_begins_inside_a_frame) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  stage.server->receive_bulk();
  stage.server->connection->enter(Generation(1));
  const Bytes data(3'000'000, std::byte{3});
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(1, 1), data).ok());
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(3, 3), data).ok());
  EXPECT_TRUE(stage.world.run_until([&] { return stage.server->pieces >= 3; }, 5s));
  stage.server->connection->enter(Generation(2));
  const int pieces = stage.server->pieces;
  stage.world.run_for(20s);
  EXPECT_EQ(stage.server->pieces, pieces) << "the rest of generation 1 was shown";
  EXPECT_TRUE(stage.server->frames.empty());
  stage.server->connection->enter(Generation(3));
  ASSERT_EQ(numbers(stage.server->frames), Numbers{3});
  EXPECT_EQ(stage.server->frames[0].payload, data);

  EXPECT_TRUE(client->connection->send_bulk(bulk_head(4, 4), data).ok());
  const Time before = stage.server->connection->last_heard();
  EXPECT_TRUE(
      stage.world.run_until([&] { return stage.server->connection->last_heard() > before; }, 5s));
  stage.server->connection->enter(Generation(4));
  EXPECT_EQ(stage.server->frames.size(), 1u) << "it is not whole yet";
  stage.world.run_for(20s);
  ASSERT_EQ(numbers(stage.server->frames), (Numbers{3, 4}));
  EXPECT_EQ(stage.server->frames[1].payload, data);
}

TEST(WireBulk, only_so_much_waits_for_a_newer_view) {
  EndpointOptions options = options_of("server");
  options.connection.held_bytes_max = 1'000'000;
  Stage stage(options);
  Party* client = stage.party(options_of("client"));
  stage.server->receive_bulk();
  const Bytes data(600'000);
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(1, 1), data).ok());
  stage.world.run_for(10s);
  ASSERT_TRUE(stage.server->connection);
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(1, 2), data).ok());
  stage.world.run_for(10s);
  EXPECT_EQ(stage.server->closed, "more than 1000000 bytes wait for generation 1, this is 0");
}

TEST(WireBulk, for_nobody_ends_the_connection) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  EXPECT_TRUE(client->connection->send_bulk(bulk_head(0, 1), {}).ok());
  stage.world.run_for(1s);
  EXPECT_EQ(stage.server->closed, "bulk data of type 32768 for nobody");
}

TEST(WireBulk, what_was_not_begun_can_be_dropped) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  stage.server->receive_bulk();
  const Bytes data(1'500'000);
  Numbers sent;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const MessageHead head = bulk_head(i == 3 ? 0 : 1, i);
    EXPECT_TRUE(client->connection->send_bulk(head, data, [&, i] { sent.push_back(i); }).ok());
  }
  client->connection->drop_bulk(Generation(1));
  EXPECT_TRUE(client->connection->send({.first = 9}).ok());
  stage.world.run_for(20s);
  stage.server->connection->enter(Generation(1));
  EXPECT_EQ(numbers(stage.server->frames), (Numbers{9, 3, 0}));
  EXPECT_EQ(sent, (Numbers{0, 3}));
}

TEST(WireBulk, only_so_many_frames_wait_and_none_after_the_end) {
  EndpointOptions options = options_of("client");
  options.connection.bulk_queue_max = 10;
  Stage stage;
  Party* client = stage.party(options);
  bool told = false;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(client->connection->send_bulk(bulk_head(0, 1), {}, [&] { told = true; }).ok());
  }
  EXPECT_EQ(client->connection->send_bulk(bulk_head(0, 1), {}).error().code, Code::kExhausted);
  client->connection->close();
  EXPECT_EQ(client->connection->send_bulk(bulk_head(0, 1), {}).error().code, Code::kUnavailable);
  stage.world.run_for(1s);
  EXPECT_FALSE(told);
}

TEST(Wire, any_byte_is_heard_and_a_ping_can_be_asked_for) {
  Stage stage;
  Party* client = stage.party(options_of("client"));
  stage.world.run_for(1s);
  const Time begin = stage.server->connection->last_heard();
  EXPECT_LT(begin + 500ms, stage.server->system.now());
  client->connection->ping();
  stage.world.run_for(100ms);
  const Time pinged = stage.server->connection->last_heard();
  EXPECT_GT(pinged, begin);
  EXPECT_TRUE(client->connection->send({}, nullptr, Bytes(5'000'000)).ok());
  EXPECT_TRUE(
      stage.world.run_until([&] { return stage.server->connection->last_heard() > pinged; }, 5s));
  EXPECT_TRUE(stage.server->frames.empty()) << "in the middle of a frame";
}

}  // namespace
}  // namespace edl::wire
