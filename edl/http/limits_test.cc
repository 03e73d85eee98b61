// Every limit, on both worlds: who goes beyond it is told, or closed, and nobody else notices.
#include "edl/base/text.h"
#include "edl/http/scene_test.h"

namespace edl::http {
namespace {

using os::OnBothStages;
EDL_ON_BOTH_STAGES(HttpLimits);

// Sends some bytes and expects this start of an answer; then one end closes, and so does the other.
struct Refused : Scene {
  Refused(os::System& s, os::Stage& w) : Scene(s, w) {}
  void expect(const Limits& limits, std::vector<std::string> pieces, const std::string& answer) {
    start(echo(), {.address = {}, .limits = limits});
    RawPeer& peer = raw();
    peer.send(std::move(pieces));
    peer.on_text = [this, &peer, answer](const std::string& all) {
      if (!all.ends_with("\n") || all.ends_with("\r\n")) return;
      EXPECT_TRUE(all.starts_with(answer)) << all;
      peer.close();
      watch();
    };
  }
  void watch() {
    if (server->connections() == 0) return done();
    later = system.after(1ms, [this] { watch(); });
  }
};

TEST_P(HttpLimits, a_long_header_is_refused) {
  struct Header : Refused {
    Header(os::System& s, os::Stage& w) : Refused(s, w) {
      expect({.header_bytes_max = 1000},
             {"GET / HTTP/1.1\r\nX: ", std::string(900, 'x'), std::string(900, 'x')},
             "HTTP/1.1 431 ");
    }
  };
  play<Header>();
}

TEST_P(HttpLimits, a_long_body_is_refused_before_it_comes) {
  struct Length : Refused {
    Length(os::System& s, os::Stage& w) : Refused(s, w) {
      expect({.body_bytes_max = 1000}, {"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"},
             "HTTP/1.1 413 ");
    }
  };
  play<Length>();
}

TEST_P(HttpLimits, a_long_body_is_refused_when_it_told_no_length) {
  struct Chunked : Refused {
    Chunked(os::System& s, os::Stage& w) : Refused(s, w) {
      const std::string chunk = "100\r\n" + std::string(256, 'x') + "\r\n";
      expect({.body_bytes_max = 1000},
             {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", chunk, chunk, chunk, chunk},
             "HTTP/1.1 413 ");
    }
  };
  play<Chunked>();
}

TEST_P(HttpLimits, bad_bytes_are_refused) {
  struct Bad : Refused {
    Bad(os::System& s, os::Stage& w) : Refused(s, w) {
      expect({}, {"\x16\x03\x01\x02"}, "HTTP/1.1 400 ");
    }
  };
  play<Bad>();
}

TEST_P(HttpLimits, a_request_that_does_not_end_is_refused) {
  struct Slow : Refused {
    Slow(os::System& s, os::Stage& w) : Refused(s, w) {
      expect({.message_time = 30ms}, {"GET / HTTP/1.1\r\n"}, "HTTP/1.1 408 ");
    }
  };
  play<Slow>();
}

TEST_P(HttpLimits, an_idle_connection_is_closed) {
  struct Idle : Scene {
    Idle(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo(), {.address = {}, .limits = {.idle_time = 200ms}});
      RawPeer& peer = raw();
      peer.send({"GET / HTTP/1.1\r\n\r\n"});
      peer.on_end = [this, &peer] {
        EXPECT_TRUE(peer.received.starts_with("HTTP/1.1 200 ")) << peer.received;
        EXPECT_EQ(server->connections(), 0u);
        done();
      };
    }
  };
  play<Idle>();
}

TEST_P(HttpLimits, too_many_connections_are_closed) {
  struct Many : Scene {
    Many(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo(), {.address = {}, .limits = {.connections_max = 2}});
      raw().send({"GET / HTTP/1.1\r\n\r\n"});
      peers[0]->on_text = [this](const auto&) {
        raw().send({"GET / HTTP/1.1\r\n\r\n"});
        peers[1]->on_text = [this](const auto&) {
          raw().on_end = [this] {
            EXPECT_EQ(server->connections(), 2u);
            EXPECT_EQ(peers[2]->received, "");
            done();
          };
        };
      };
    }
  };
  play<Many>();
}

// A peer that does not read: its connection is filled until a limit strikes.
struct NotReading : Scene {
  NotReading(os::System& s, os::Stage& w, const Limits& limits, std::size_t piece_bytes)
      : Scene(s, w), piece(piece_bytes, 'x') {
    start(
        [this](std::unique_ptr<Exchange> exchange) {
          exchange->begin(200, {});
          exchange->on_gone([this] {
            exchanges.back()->send("to nobody");
            EXPECT_EQ(exchanges.back()->unsent_bytes(), 0u);
            EXPECT_EQ(server->connections(), 0u);
            done();
          });
          exchanges.push_back(std::move(exchange));
          fill();
        },
        {.address = {}, .limits = limits});
    connecting = system.network().connect(server->address(), 10s, [this](auto made) {
      stream = std::move(made).value();
      const ConstBytes bytes = bytes_of("GET / HTTP/1.1\r\n\r\n");
      stream->write(std::span(&bytes, 1), [](const auto&) {});
    });
  }
  virtual void fill() = 0;
  const std::string piece;
  os::Pending connecting;
  std::unique_ptr<os::Stream> stream;
};

TEST_P(HttpLimits, who_takes_no_bytes_is_closed) {
  struct Stuck : NotReading {
    Stuck(os::System& s, os::Stage& w) : NotReading(s, w, {.write_time = 50ms}, 100'000) {}
    // On and on, as fast as the network takes it.
    void fill() override {
      exchanges.back()->on_sent([this] { exchanges.back()->send(piece); });
      exchanges.back()->send(piece);
    }
  };
  play<Stuck>();
}

TEST_P(HttpLimits, who_reads_too_slowly_is_closed) {
  struct Behind : NotReading {
    Behind(os::System& s, os::Stage& w)
        : NotReading(s, w, {.unsent_bytes_max = 1 << 20}, 400'000) {}
    void fill() override {
      for (int i = 0; i < 3; ++i) exchanges.back()->send(piece);
      EXPECT_EQ(exchanges.back()->unsent_bytes(), 0u);
    }
  };
  play<Behind>();
}

TEST_P(HttpLimits, a_streamed_body_waits_until_it_is_read) {
  struct Waits : Scene {
    Waits(os::System& s, os::Stage& w) : Scene(s, w) {
      start(
          [this](std::unique_ptr<Exchange> exchange) {
            exchanges.push_back(std::move(exchange));
            later = system.after(100ms, [this] { read(); });
          },
          {.address = {}, .limits = {.body_bytes_max = 1000}, .streams = [](const Request&) {
             return true;
           }});
      ask({"POST", "/", {}, std::string(2'000'000, 'b')}, [this](auto answer) {
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->body, "2000000");
        done();
      });
    }
    void read() {
      exchanges.back()->read_body([this](std::string_view piece) {
        got += piece.size();
        if (piece.empty()) exchanges.back()->answer({200, {}, std::to_string(got)});
      });
      EXPECT_EQ(got, 0u) << "called inside the call";
    }
    std::size_t got = 0;
  };
  play<Waits>();
}

TEST_P(HttpLimits, a_client_refuses_answers_that_are_too_long) {
  struct Answers : Scene {
    Answers(os::System& s, os::Stage& w) : Scene(s, w) {
      client_options.limits = {.header_bytes_max = 1000, .body_bytes_max = 1000};
      start([](std::unique_ptr<Exchange> exchange) {
        const bool in_header = exchange->request().target == "/header";
        const std::string much(2000, 'x');
        exchange->answer({200, {{"X", in_header ? much : "x"}}, in_header ? "" : much});
      });
      ask({"GET", "/header", {}, {}}, [this](const auto& answer) {
        EXPECT_EQ(answer.error().code, Code::kExhausted) << answer.error().message;
        ask({"GET", "/body", {}, {}}, [this](const auto& second) {
          EXPECT_EQ(second.error().code, Code::kExhausted) << second.error().message;
          done();
        });
      });
    }
  };
  play<Answers>();
}

}  // namespace
}  // namespace edl::http
