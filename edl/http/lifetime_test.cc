// Who may go when: peers, exchanges, servers and clients, in every phase and inside callbacks.
#include "edl/base/text.h"
#include "edl/http/scene_test.h"

namespace edl::http {
namespace {

using os::OnBothStages;
EDL_ON_BOTH_STAGES(HttpLifetimes);

ServerOptions streams_all() {
  ServerOptions options;
  options.streams = [](const Request&) { return true; };
  return options;
}

// A peer sends some bytes and closes. The exchange that they made is told.
struct PeerGone : Scene {
  PeerGone(os::System& s, os::Stage& w) : Scene(s, w) {}
  void play_it(const std::string& bytes, std::function<void(Exchange&)> serve,
               ServerOptions options = {}) {
    start(
        [this, serve](std::unique_ptr<Exchange> exchange) {
          exchange->on_gone([this] {
            exchanges.back()->on_gone([] { FAIL() << "told twice"; });
            exchanges.clear();
            later = system.after(1ms, [this] {
              EXPECT_EQ(server->connections(), 0u);
              done();
            });
          });
          serve(*exchange);
          exchanges.push_back(std::move(exchange));
          peers.back()->close();
        },
        std::move(options));
    raw().send({bytes});
  }
};

TEST_P(HttpLifetimes, a_peer_goes_while_its_answer_is_awaited) {
  struct Awaited : PeerGone {
    Awaited(os::System& s, os::Stage& w) : PeerGone(s, w) {
      play_it("GET / HTTP/1.1\r\n\r\n", [](Exchange&) {});
    }
  };
  play<Awaited>();
}

TEST_P(HttpLifetimes, a_peer_goes_while_its_answer_is_streamed) {
  struct Streamed : PeerGone {
    Streamed(os::System& s, os::Stage& w) : PeerGone(s, w) {
      play_it("GET / HTTP/1.1\r\n\r\n", [](Exchange& exchange) {
        exchange.begin(200, {});
        exchange.send("a piece");
      });
    }
  };
  play<Streamed>();
}

TEST_P(HttpLifetimes, a_peer_goes_while_it_streams_its_request) {
  struct Sending : PeerGone {
    Sending(os::System& s, os::Stage& w) : PeerGone(s, w) {
      play_it(
          "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
          [](Exchange& exchange) {
            exchange.read_body([](std::string_view piece) { EXPECT_EQ(piece, "abc"); });
          },
          streams_all());
    }
  };
  play<Sending>();
}

TEST_P(HttpLifetimes, a_peer_goes_within_its_header) {
  struct Within : Scene {
    Within(os::System& s, os::Stage& w) : Scene(s, w) {
      start([](auto) { FAIL() << "half a request is none"; });
      raw().send({"GET / HT"});
      watch();
    }
    void watch() {
      if (server->connections() == 1 && !closed) {
        peers.clear();
        closed = true;
      }
      if (server->connections() == 0 && closed) return done();
      later = system.after(1ms, [this] { watch(); });
    }
    bool closed = false;
  };
  play<Within>();
}

// The server is destroyed inside one of the callbacks of an exchange.
struct ServerGone : Scene {
  enum class When { kServe, kSent, kPiece, kGone };
  ServerGone(os::System& s, os::Stage& w, When when) : Scene(s, w) {
    start(
        [this, when](std::unique_ptr<Exchange> exchange) {
          Exchange& kept = *exchange;
          exchanges.push_back(std::move(exchange));
          if (when == When::kServe) return destroy();
          if (when == When::kSent) kept.on_sent([this] { destroy(); });
          if (when == When::kPiece) kept.read_body([this](auto) { destroy(); });
          if (when == When::kGone) {
            kept.on_gone([this] { destroy(); });
            return peers.back()->close();
          }
          kept.begin(200, {});
          kept.send("a piece");
        },
        streams_all());
    raw().send({"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc"});
  }
  void destroy() {
    ASSERT_TRUE(server);
    server.reset();
    exchanges.back()->on_gone([this] {
      exchanges.clear();
      done();
    });
  }
};

TEST_P(HttpLifetimes, the_server_ends_while_it_serves) {
  struct Serving : ServerGone {
    Serving(os::System& s, os::Stage& w) : ServerGone(s, w, When::kServe) {}
  };
  play<Serving>();
}

TEST_P(HttpLifetimes, the_server_ends_while_it_tells_what_was_sent) {
  struct Sent : ServerGone {
    Sent(os::System& s, os::Stage& w) : ServerGone(s, w, When::kSent) {}
  };
  play<Sent>();
}

TEST_P(HttpLifetimes, the_server_ends_while_it_gives_a_piece) {
  struct Piece : ServerGone {
    Piece(os::System& s, os::Stage& w) : ServerGone(s, w, When::kPiece) {}
  };
  play<Piece>();
}

TEST_P(HttpLifetimes, the_server_ends_while_it_tells_who_has_gone) {
  struct Gone : ServerGone {
    Gone(os::System& s, os::Stage& w) : ServerGone(s, w, When::kGone) {}
  };
  play<Gone>();
}

TEST_P(HttpLifetimes, an_exchange_may_end_inside_its_callbacks) {
  struct Inside : Scene {
    Inside(os::System& s, os::Stage& w) : Scene(s, w) {
      start(
          [this](std::unique_ptr<Exchange> exchange) {
            Exchange& kept = *exchange;
            exchanges.push_back(std::move(exchange));
            if (kept.request().target == "/piece") {
              kept.read_body([this](auto) { exchanges.clear(); });
            } else {
              kept.begin(200, {});
              kept.on_sent([this] { exchanges.clear(); });
              kept.send("x");
            }
          },
          streams_all());
      ask({"POST", "/piece", {}, "abc"}, [this](const auto& answer) {
        EXPECT_EQ(answer.error().code, Code::kTimeout) << answer.error().message;
        ask({"POST", "/sent", {}, "abc"}, [this](const auto& second) {
          EXPECT_EQ(second.error().code, Code::kTimeout) << second.error().message;
          done();
        });
      });
    }
  };
  play<Inside>();
}

TEST_P(HttpLifetimes, an_answer_is_sent_though_its_exchange_has_ended) {
  struct Ended : Scene {
    Ended(os::System& s, os::Stage& w) : Scene(s, w) {
      start([this](std::unique_ptr<Exchange> exchange) {
        exchange->answer({200, {}, std::string(3'000'000, 'x')});
        kept = exchange->request().target == "/kept" ? std::move(exchange) : nullptr;
      });
      ask({"GET", "/dropped", {}, {}}, [this](auto answer) {
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->body.size(), 3'000'000u);
        ask({"GET", "/kept", {}, {}}, [this](auto second) {
          ASSERT_TRUE(second.ok()) << second.error().message;
          server.reset();
          EXPECT_EQ(kept->unsent_bytes(), 0u);
          kept.reset();
          done();
        });
      });
    }
    std::unique_ptr<Exchange> kept;
  };
  play<Ended>();
}

TEST_P(HttpLifetimes, nobody_is_called_after_a_client_or_its_call_ended) {
  struct Given : Scene {
    Given(os::System& s, os::Stage& w) : Scene(s, w) {
      start(
          [this](std::unique_ptr<Exchange> exchange) {
            exchange->on_gone([this] { ++gone; });
            exchanges.push_back(std::move(exchange));
            if (exchanges.size() == 3) end_all();
          },
          streams_all());
      const auto never = [](const auto&) { FAIL() << "called"; };
      ask({}, never);
      ask({}, never);
      stream = client().open(url(), {}, true, 10s, {nullptr, nullptr, never});
    }
    void end_all() {
      calls.clear();
      client_.reset();
      stream->send("to nobody");
      stream.reset();
      wait();
    }
    void wait() {
      if (gone == 3) return done();
      later = system.after(1ms, [this] { wait(); });
    }
    int gone = 0;
    std::unique_ptr<ClientStream> stream;
  };
  play<Given>();
}

TEST_P(HttpLifetimes, a_client_may_end_inside_its_callbacks) {
  struct Inside : Scene {
    Inside(os::System& s, os::Stage& w) : Scene(s, w) {
      start([](std::unique_ptr<Exchange> exchange) {
        exchange->begin(200, {});
        exchange->send("one");
        exchange->send("two");
        exchange->end();
      });
      next(0);
    }
    void next(int when) {
      const auto end_now = [this, when] {
        stream.reset();
        calls.clear();
        client_.reset();
        later = system.after(1ms, [this, when] { when == 3 ? done() : next(when + 1); });
      };
      if (when == 3) return ask({}, [end_now](const auto&) { end_now(); });
      StreamCallbacks callbacks;
      if (when == 0) callbacks.on_head = [end_now](const auto&) { end_now(); };
      if (when == 1) callbacks.on_piece = [end_now](const auto&) { end_now(); };
      callbacks.on_end = [end_now, when](const auto&) {
        EXPECT_EQ(when, 2);
        end_now();
      };
      stream = client().open(url(), {}, false, 10s, std::move(callbacks));
    }
    std::unique_ptr<ClientStream> stream;
  };
  play<Inside>();
}

TEST_P(HttpLifetimes, errors_tell_whether_the_request_may_have_arrived) {
  struct Errors : Scene {
    Errors(os::System& s, os::Stage& w) : Scene(s, w) {
      start([this](std::unique_ptr<Exchange> exchange) {
        if (exchange->request().target == "/close") return;
        exchanges.push_back(std::move(exchange));
      });
      ask({"GET", "/close", {}, {}}, [this](const auto& closed) {
        EXPECT_EQ(closed.error().code, Code::kTimeout) << closed.error().message;
        calls.push_back(client().send(url(), {}, 300ms, [this](const auto& late) {
          EXPECT_EQ(late.error().code, Code::kTimeout) << late.error().message;
          calls.push_back(
              client().send({{"127.0.0.1", 1, {}}, false}, {}, 10s, [this](const auto& nobody) {
                EXPECT_EQ(nobody.error().code, Code::kUnavailable) << nobody.error().message;
                ask({"GET", "not a target", {}, {}}, [this](const auto& wrong) {
                  EXPECT_EQ(wrong.error().code, Code::kInvalid) << wrong.error().message;
                  done();
                });
              }));
        }));
      });
    }
  };
  play<Errors>();
}

TEST_P(HttpLifetimes, a_kept_connection_that_the_server_closed_is_not_used) {
  struct Kept : Scene {
    Kept(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo(), {.address = {}, .limits = {.idle_time = 200ms}});
      ask({}, [this](const auto& first) {
        EXPECT_TRUE(first.ok());
        wait();
      });
    }
    void wait() {
      if (server->connections() > 0) {
        later = system.after(1ms, [this] { wait(); });
        return;
      }
      later = system.after(50ms, [this] {
        ask({}, [this](const auto& second) {
          EXPECT_TRUE(second.ok()) << second.error().message;
          done();
        });
      });
    }
  };
  play<Kept>();
}

// The server ends each time in the moment when the client asks again: never an answer that is not
// one, and never `kUnavailable` for what was sent.
TEST_P(HttpLifetimes, a_server_starts_anew_under_its_client) {
  struct Anew : Scene {
    Anew(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo());
      next();
    }
    void next() {
      if (++rounds == 40) return done();
      ask({"POST", "/", {}, "x"}, [this](const auto& first) {
        ASSERT_TRUE(first.ok()) << first.error().message;
        const os::Address address = server->address();
        server.reset();
        start(echo(), {.address = address});
        ask({"POST", "/", {}, "y"}, [this](const auto& second) {
          if (second.ok()) {
            EXPECT_EQ(second->body, "POST y");
          } else {
            EXPECT_EQ(second.error().code, Code::kTimeout) << second.error().message;
          }
          next();
        });
      });
    }
    int rounds = 0;
  };
  play<Anew>();
}

// A Unix socket refuses bytes at once when its other end is closed, so here nothing was taken.
TEST(HttpRetry, a_request_of_which_nothing_was_taken_is_sent_again) {
  struct Again : Scene {
    Again(os::System& s, os::Stage& w) : Scene(s, w) {
      const os::Address address{{}, 0, stage.folder() + "/http"};
      start(echo(), {.address = address});
      ask({"POST", "/", {}, "x"}, [this, address](const auto& first) {
        ASSERT_TRUE(first.ok()) << first.error().message;
        server.reset();
        start(echo(), {.address = address});
        ask({"POST", "/", {}, "y"}, [this](const auto& second) {
          ASSERT_TRUE(second.ok()) << second.error().message;
          EXPECT_EQ(second->body, "POST y");
          done();
        });
      });
    }
  };
  os::PosixStage stage;
  EXPECT_TRUE(
      stage.play([&stage](os::System& system) { return std::make_unique<Again>(system, stage); }));
}

}  // namespace
}  // namespace edl::http
