// How the virtual network fails.
#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"

namespace edl::os {
namespace {

// Two nodes with one connection between them; each end notes what it sees.
struct Ends {
  Ends() : world({.seed = 3}) {
    a = world.add_node("a");
    b = world.add_node("b");
    world.install("server", [this](System& system, const Arguments&) {
      return std::make_unique<Server>(system, *this);
    });
    world.install("client", [this](System& system, const Arguments&) {
      return std::make_unique<Client>(system, *this);
    });
    server_pid = world.start(b, {"server"});
    world.run_for(100ms);
    client_pid = world.start(a, {"client"});
    EXPECT_TRUE(world.run_until([&] { return client != nullptr && client->stream; }, 10s));
  }

  struct Server final : Program {
    Server(System& system, Ends& both) : ends(both) {
      ends.server = this;
      listener = system.network()
                     .listen({"10.0.0.2", 80, {}},
                             [this](auto accepted) {
                               stream = std::move(accepted);
                               read();
                             })
                     .value();
    }
    ~Server() override { ends.server = nullptr; }
    void read() {
      stream->read(buffer, [this](Result<std::size_t> got) {
        if (!got.ok() || *got == 0) {
          ends.server_saw = got.ok() ? "end" : code_name(got.error().code);
          return;
        }
        ends.server_got += text_of(ConstBytes(buffer).first(*got));
        read();
      });
    }
    Ends& ends;
    Bytes buffer = Bytes(100);
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Stream> stream;
  };

  struct Client final : Program {
    Client(System& of_client, Ends& both) : its(of_client), ends(both) {
      ends.client = this;
      pending = its.network().connect({"b", 80, {}}, 10s, [this](auto connected) {
        if (connected.ok()) {
          stream = std::move(connected).value();
          read();
        }
      });
    }
    ~Client() override { ends.client = nullptr; }
    void read() {
      stream->read(buffer, [this](Result<std::size_t> got) {
        ends.client_saw = !got.ok() ? code_name(got.error().code) : *got == 0 ? "end" : "bytes";
      });
    }
    System& its;
    Ends& ends;
    Bytes buffer = Bytes(100);
    Pending pending;
    std::unique_ptr<Stream> stream;
  };

  void send(std::string_view words) {
    const ConstBytes piece = bytes_of(words);
    client->stream->write(std::span(&piece, 1), [](auto) {});
  }

  int a = 0;
  int b = 0;
  int server_pid = 0;
  int client_pid = 0;
  Server* server = nullptr;
  Client* client = nullptr;
  std::string server_got;
  std::string server_saw;
  std::string client_saw;
  VirtualWorld world;
};

TEST(VirtualNetwork, a_cut_link_is_silence_and_its_bytes_come_after_it_heals) {
  Ends ends;
  ends.world.cut_link(ends.a, ends.b);
  ends.send("hello");
  ends.world.run_for(5s);
  EXPECT_EQ(ends.server_got, "");
  ends.world.heal_link(ends.a, ends.b);
  ends.world.run_for(10s);
  EXPECT_EQ(ends.server_got, "hello");
  EXPECT_EQ(ends.client_saw, "");
}

TEST(VirtualNetwork, a_one_way_cut_lets_bytes_through_the_other_way) {
  Ends ends;
  ends.world.cut_link(ends.b, ends.a);
  ends.send("hello");
  ends.world.run_for(1s);
  EXPECT_EQ(ends.server_got, "hello");
}

TEST(VirtualNetwork, whoever_hears_of_no_arrival_soon_sends_nothing_new) {
  Ends ends;
  ends.world.cut_link(ends.b, ends.a);
  for (int i = 0; i < 100; ++i) {
    ends.send("x");
    ends.world.run_for(100ms);
  }
  EXPECT_GT(ends.server_got.size(), 5u);
  EXPECT_LT(ends.server_got.size(), 20u);
  ends.world.heal_link(ends.b, ends.a);
  ends.world.run_for(60s);
  EXPECT_EQ(ends.server_got.size(), 100u);
}

TEST(VirtualNetwork, a_killed_process_is_seen_as_the_end) {
  Ends ends;
  ends.world.send_signal(ends.server_pid, Signal::kKill);
  ends.world.run_for(1s);
  EXPECT_EQ(ends.client_saw, "end");
  EXPECT_EQ(ends.server, nullptr);
}

TEST(VirtualNetwork, a_power_cut_is_silence_until_the_node_is_back_and_resets) {
  Ends ends;
  ends.world.cut_power(ends.b);
  ends.world.run_for(60s);
  EXPECT_EQ(ends.client_saw, "") << "half open";
  ends.world.boot(ends.b);
  ends.send("anyone?");
  ends.world.run_for(1s);
  EXPECT_EQ(ends.client_saw, "unavailable");
}

TEST(VirtualNetwork, bytes_for_a_stopped_process_wait_for_it) {
  Ends ends;
  ends.world.send_signal(ends.server_pid, Signal::kStop);
  ends.send("hello");
  ends.world.run_for(5s);
  EXPECT_EQ(ends.server_got, "");
  ends.world.send_signal(ends.server_pid, Signal::kContinue);
  ends.world.run_for(1ms);
  EXPECT_EQ(ends.server_got, "hello");
}

TEST(VirtualNetwork, a_sender_that_nobody_acknowledges_gives_up) {
  Ends ends;
  ends.world.cut_link(ends.a, ends.b);
  ends.send("hello");
  ends.world.run_for(20min);
  EXPECT_EQ(ends.client_saw, "timeout");
}

TEST(VirtualNetwork, connecting_into_a_cut_ends_at_the_limit) {
  VirtualWorld world({.seed = 1});
  const int a = world.add_node("a");
  const int b = world.add_node("b");
  world.cut_link(a, b);
  std::string answer;
  Time answered{};
  world.install("client", [&](System& system, const Arguments&) {
    struct Client : Program {
      Pending pending;
    };
    auto client = std::make_unique<Client>();
    client->pending = system.network().connect({"b", 80, {}}, 3s, [&](auto stream) {
      answer = code_name(stream.error().code);
      answered = world.now();
    });
    return client;
  });
  world.start(a, {"client"});
  world.run_for(1min);
  EXPECT_EQ(answer, "timeout");
  EXPECT_GE(answered, Time(3s));
  EXPECT_LE(answered, Time(3100ms));
}

TEST(VirtualNetwork, who_gives_up_connecting_is_told_nothing_whenever_that_is) {
  int told = 0;
  for (int events = 1; events <= 30; ++events) {
    Ends ends;
    bool is_told = false;
    Pending attempt = ends.client->its.network().connect({"b", 80, {}}, 10s,
                                                         [&](const auto&) { is_told = true; });
    int left = events;
    (void)ends.world.run_until([&] { return --left == 0 || is_told; }, 10s);
    attempt.cancel();
    const bool was_told = std::exchange(is_told, false);
    ends.world.run_for(10s);
    EXPECT_FALSE(is_told) << "given up after " << events << " events";
    told += was_told ? 1 : 0;
  }
  EXPECT_GT(told, 0);
  EXPECT_LT(told, 30);
}

TEST(VirtualClock, the_wall_jumps_and_the_other_does_not) {
  VirtualWorld world({.seed = 1});
  const int a = world.add_node("a");
  System* seen = nullptr;
  world.install("look", [&](System& system, const Arguments&) {
    seen = &system;
    return std::make_unique<Program>();
  });
  world.start(a, {"look"});
  world.run_for(1s);
  const Time now = seen->now();
  const WallTime wall = seen->wall_time();
  world.jump_wall_clock(a, -30min);
  EXPECT_EQ(seen->now(), now);
  EXPECT_EQ(seen->wall_time(), wall - 30min);
}

}  // namespace
}  // namespace edl::os
