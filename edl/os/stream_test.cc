#include "edl/base/random.h"
#include "edl/os/stage_test.h"

namespace edl::os {
namespace {

EDL_ON_BOTH_STAGES(Streams);

Bytes pattern(std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  Bytes out(bytes);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random.next());
  return out;
}

void read_all(Stream& stream, Bytes& into, Bytes& buffer, std::function<void()> ended) {
  stream.read(buffer, [&stream, &into, &buffer, ended](Result<std::size_t> got) {
    ASSERT_TRUE(got.ok()) << got.error().message;
    if (*got == 0) return ended();
    into.insert(into.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
    read_all(stream, into, buffer, ended);
  });
}

// A client sends three pieces and closes; the server takes everything and compares.
struct Transfer : Program {
  Transfer(System& system, Stage&, const Address& address) : buffer(4096) {
    for (std::size_t i = 0; i < 3; ++i) sent.push_back(pattern(400'000 + i, i));
    auto listening = system.network().listen(address, [&](std::unique_ptr<Stream> stream) {
      EXPECT_FALSE(stream->peer().empty());
      server = std::move(stream);
      read_all(*server, received, buffer, [this, &system] {
        Bytes all;
        for (const Bytes& piece : sent) all.insert(all.end(), piece.begin(), piece.end());
        EXPECT_TRUE(all == received) << all.size() << " sent, " << received.size() << " received";
        system.finish(0);
      });
    });
    EDL_CHECK(listening.ok());
    listener = std::move(listening).value();
    pending = system.network().connect(listener->address(), 10s, [this](auto stream) {
      ASSERT_TRUE(stream.ok()) << stream.error().message;
      client = std::move(stream).value();
      const std::vector<ConstBytes> pieces(sent.begin(), sent.end());
      client->write(pieces, [this](Result<void> done) {
        EXPECT_TRUE(done.ok());
        client->close();
      });
    });
  }
  std::vector<Bytes> sent;
  Bytes received;
  Bytes buffer;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Stream> server;
  std::unique_ptr<Stream> client;
  Pending pending;
};

TEST_P(Streams, carry_bytes_in_order_and_tell_the_end_over_tcp) {
  struct Tcp : Transfer {
    Tcp(System& system, Stage& stage) : Transfer(system, stage, {"127.0.0.1", 0, {}}) {}
  };
  play<Tcp>();
}

TEST_P(Streams, carry_bytes_in_order_and_tell_the_end_over_unix_sockets) {
  struct Unix : Transfer {
    Unix(System& system, Stage& stage)
        : Transfer(system, stage, {{}, 0, stage.folder() + "/socket"}) {}
  };
  play<Unix>();
}

TEST_P(Streams, give_at_once_what_has_come) {
  struct AtOnce : Program {
    AtOnce(System& system, Stage&) : buffer(4), rest(10) {
      auto listening =
          system.network().listen({"127.0.0.1", 0, {}}, [&](std::unique_ptr<Stream> stream) {
            server = std::move(stream);
            server->read(buffer, [&](Result<std::size_t> got) {
              std::size_t all = got.value();
              while (const std::size_t more = server->read_now(rest)) all += more;
              EXPECT_GT(all, 0u);
              server->read(buffer, [&system](Result<std::size_t> last) {
                EXPECT_EQ(last.value(), 0u) << "the end is told by read";
                system.finish(0);
              });
              client->close();
            });
          });
      EDL_CHECK(listening.ok());
      listener = std::move(listening).value();
      pending = system.network().connect(listener->address(), 10s, [this](auto stream) {
        ASSERT_TRUE(stream.ok());
        client = std::move(stream).value();
        EXPECT_EQ(client->read_now(rest), 0u) << "nobody sends anything to it";
        const std::vector<ConstBytes> pieces{bytes_of("12"), bytes_of("3")};
        client->write(pieces, [](Result<void>) {});
      });
    }
    Bytes buffer;
    Bytes rest;
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Stream> server;
    std::unique_ptr<Stream> client;
    Pending pending;
  };
  play<AtOnce>();
}

TEST_P(Streams, connecting_to_nobody_is_refused) {
  struct Refused : Program {
    Refused(System& system, Stage& stage) {
      const Address nobody{{}, 0, stage.folder() + "/nobody"};
      first = system.network().connect(nobody, 10s, [this, &system](auto stream) {
        EXPECT_FALSE(stream.ok());
        second = system.network().connect({"127.0.0.1", 1, {}}, 10s, [&system](auto other) {
          EXPECT_EQ(other.error().code, Code::kUnavailable);
          EXPECT_NE(other.error().message.find("Connection refused"), std::string::npos)
              << other.error().message;
          system.finish(0);
        });
      });
    }
    Pending first;
    Pending second;
  };
  play<Refused>();
}

TEST_P(Streams, an_address_in_use_is_a_conflict_and_free_after_its_listener) {
  struct InUse : Program {
    InUse(System& system, Stage& stage) {
      for (const Address& wanted :
           {Address{"127.0.0.1", 0, {}}, Address{{}, 0, stage.folder() + "/socket"}}) {
        auto first = system.network().listen(wanted, [](auto) {});
        EDL_CHECK(first.ok());
        const Address address = (*first)->address();
        const auto second = system.network().listen(address, [](auto) {});
        EXPECT_EQ(second.error().code, Code::kConflict);
        first->reset();
        EXPECT_TRUE(system.network().listen(address, [](auto) {}).ok());
      }
      system.finish(0);
    }
  };
  play<InUse>();
}

// Fills a connection until it takes no more, then lets the other end read.
struct Backpressure : Program {
  Backpressure(System& system, Stage& stage) : buffer(1 << 16), chunk(pattern(100'000, 1)) {
    const Address address{{}, 0, stage.folder() + "/socket"};
    listener = system.network()
                   .listen(address, [this](auto stream) { server = std::move(stream); })
                   .value();
    pending = system.network().connect(address, 10s, [this, &system](auto stream) {
      client = std::move(stream).value();
      write_next();
      quiet = system.after(300ms, [this, &system] {
        EXPECT_LT(written, chunk.size() * kWrites) << "nobody reads, yet all was taken";
        read_all(*server, received, buffer, [this, &system] {
          EXPECT_EQ(received.size(), chunk.size() * kWrites);
          system.finish(0);
        });
      });
    });
  }
  void write_next() {
    if (written == chunk.size() * kWrites) return client->close();
    const ConstBytes piece = chunk;
    client->write(std::span(&piece, 1), [this](Result<void> done) {
      ASSERT_TRUE(done.ok());
      written += chunk.size();
      write_next();
    });
  }
  static constexpr std::size_t kWrites = 40;
  Bytes buffer;
  Bytes chunk;
  Bytes received;
  std::size_t written = 0;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Stream> server;
  std::unique_ptr<Stream> client;
  Pending pending;
  Pending quiet;
};

TEST_P(Streams, a_sender_waits_for_a_reader) { play<Backpressure>(); }

TEST_P(Streams, no_callback_comes_after_close) {
  struct Closed : Program {
    Closed(System& system, Stage&) : buffer(10) {
      listener =
          system.network()
              .listen({"127.0.0.1", 0, {}}, [this](auto stream) { server = std::move(stream); })
              .value();
      pending = system.network().connect(listener->address(), 10s, [this, &system](auto stream) {
        client = std::move(stream).value();
        client->read(buffer, [](auto) { FAIL() << "called back after close"; });
        client->close();
        abandoned = system.network().connect(listener->address(), 10s,
                                             [](auto) { FAIL() << "called back after cancel"; });
        abandoned.cancel();
        later = system.after(50ms, [&system] { system.finish(0); });
      });
    }
    Bytes buffer;
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Stream> server;
    std::unique_ptr<Stream> client;
    Pending pending;
    Pending abandoned;
    Pending later;
  };
  play<Closed>();
}

// One end makes memory and sends it; the other reads it, then sees a later change.
struct Shared : Program {
  Shared(System& system, Stage& stage) {
    const Address address{{}, 0, stage.folder() + "/socket"};
    listener = system.network()
                   .listen(address,
                           [this, &system](auto stream) {
                             server = std::move(stream);
                             server->receive_memory(
                                 [this, &system](auto got) { take(system, std::move(got)); });
                           })
                   .value();
    memory = system.make_memory(1 << 20).value();
    memory->writable()[7] = std::byte{42};
    pending = system.network().connect(address, 10s, [this](auto stream) {
      client = std::move(stream).value();
      client->send_memory(*memory, [this](Result<void> sent) {
        EXPECT_TRUE(sent.ok());
        const ConstBytes plain = bytes_of("x");
        client->write(std::span(&plain, 1), [](auto) {});
      });
    });
  }
  void take(System& system, Result<std::unique_ptr<Memory>> got) {
    ASSERT_TRUE(got.ok()) << got.error().message;
    theirs = std::move(got).value();
    EXPECT_EQ(theirs->bytes().size(), memory->bytes().size());
    EXPECT_EQ(theirs->bytes()[7], std::byte{42});
    EXPECT_TRUE(theirs->writable().empty());
    memory->writable()[8] = std::byte{43};
    EXPECT_EQ(theirs->bytes()[8], std::byte{43});
    server->receive_memory([&system](auto plain) {
      EXPECT_EQ(plain.error().code, Code::kInvalid);
      system.finish(0);
    });
  }
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Memory> theirs;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Stream> server;
  std::unique_ptr<Stream> client;
  Pending pending;
};

TEST_P(Streams, pass_memory_that_only_its_maker_can_write) { play<Shared>(); }

TEST(Address, reads_back_what_it_writes) {
  for (const char* good : {"127.0.0.1:80", "[::1]:8080", "host.example:1", "unix:/tmp/x", "a:0"}) {
    const auto address = parse_address(good);
    ASSERT_TRUE(address.ok()) << good;
    EXPECT_EQ(address_text(*address), good);
  }
  for (const char* wrong : {"", "x", ":80", "a:65536", "a:-1", "a:1x", "unix:", "::1:80", "[]:1",
                            "[a]:1", "[::]]:1", "a b:1", "a%b:1"}) {
    EXPECT_FALSE(parse_address(wrong).ok()) << wrong;
  }
  EXPECT_FALSE(parse_address("unix:/" + std::string(200, 'x')).ok());
  EXPECT_TRUE(parse_address("127.3.0.1:1")->is_local());
  EXPECT_FALSE(parse_address("10.0.0.1:1")->is_local());
}

}  // namespace
}  // namespace edl::os
