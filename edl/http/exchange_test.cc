// Requests and answers through both worlds: whole, streamed, pipelined, cut anywhere.
#include <set>

#include "edl/base/text.h"
#include "edl/http/scene_test.h"

namespace edl::http {
namespace {

using os::OnBothStages;
EDL_ON_BOTH_STAGES(Http);

TEST_P(Http, a_request_gets_its_answer) {
  struct Whole : Scene {
    Whole(os::System& s, os::Stage& w) : Scene(s, w) {
      start([](std::unique_ptr<Exchange> exchange) {
        EXPECT_FALSE(exchange->peer().empty());
        const Request& request = exchange->request();
        EXPECT_EQ(request.method, "PUT");
        EXPECT_EQ(request.target, "/a/b?c=d");
        EXPECT_EQ(find_header(request.headers, "authorization"), "Bearer x");
        EXPECT_TRUE(find_header(request.headers, "Host").starts_with("127.0.0.1:"));
        exchange->answer({418, {{"X-Kind", "pot"}}, request.body});
      });
      const std::string body(200'000, 'b');
      ask({"PUT", "/a/b?c=d", {{"Authorization", "Bearer x"}}, body}, [this, body](auto answer) {
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->status, 418);
        EXPECT_EQ(find_header(answer->headers, "x-kind"), "pot");
        EXPECT_TRUE(answer->body == body);
        done();
      });
    }
  };
  play<Whole>();
}

TEST_P(Http, works_over_unix_sockets) {
  struct Unix : Scene {
    Unix(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo(), {.address = {{}, 0, stage.folder() + "/http"}});
      ask({"GET", "/", {}, {}}, [this](auto answer) {
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->body, "GET ");
        done();
      });
    }
  };
  play<Unix>();
}

TEST_P(Http, a_connection_is_used_again) {
  struct Again : Scene {
    Again(os::System& s, os::Stage& w) : Scene(s, w) {
      start([this](std::unique_ptr<Exchange> exchange) {
        peers_seen.insert(exchange->peer());
        EXPECT_EQ(server->connections(), 1u);
        exchange->answer({200, {}, exchange->request().body});
      });
      next();
    }
    void next() {
      if (++asked > 20) {
        EXPECT_EQ(peers_seen.size(), 1u);
        return done();
      }
      ask({"POST", "/", {}, std::to_string(asked)}, [this](auto answer) {
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->body, std::to_string(asked));
        next();
      });
    }
    int asked = 0;
    std::set<std::string> peers_seen;
  };
  play<Again>();
}

TEST_P(Http, pipelined_requests_are_answered_in_order_one_at_a_time) {
  struct Pipelined : Scene {
    Pipelined(os::System& s, os::Stage& w) : Scene(s, w) {
      start([this](std::unique_ptr<Exchange> exchange) {
        EXPECT_TRUE(exchanges.empty()) << "the next came before the answer";
        const std::string target = exchange->request().target;
        exchanges.push_back(std::move(exchange));
        later = system.after(5ms, [this, target] {
          exchanges.back()->answer({200, {}, target});
          exchanges.clear();
        });
      });
      RawPeer& peer = raw();
      std::string all;
      for (int i = 0; i < 40; ++i)
        all += text("GET /", i, " HTTP/1.1\r\nX: ", std::string(200, 'x'), "\r\n\r\n");
      all += "GET /last HTTP/1.1\r\nConnection: close\r\n\r\n";
      peer.send({all});
      peer.on_end = [this, &peer] {
        std::size_t at = 0;
        for (int i = 0; i < 40; ++i) {
          at = peer.received.find(text("\r\n\r\n/", i), at);
          EXPECT_NE(at, std::string::npos) << i;
        }
        EXPECT_TRUE(peer.received.ends_with("\r\n\r\n/last"));
        done();
      };
    }
  };
  play<Pipelined>();
}

// Both bodies are streamed at the same time: the server sends each piece back as it comes.
TEST_P(Http, bodies_are_streamed_both_ways_at_once) {
  struct Duplex : Scene {
    Duplex(os::System& s, os::Stage& w) : Scene(s, w) {
      start(
          [this](std::unique_ptr<Exchange> exchange) {
            EXPECT_EQ(exchange->request().body, "");
            exchange->begin(200, {});
            exchange->read_body([this](std::string_view piece) {
              if (piece.empty()) return exchanges.back()->end();
              exchanges.back()->send(std::string(piece));
            });
            exchanges.push_back(std::move(exchange));
          },
          {.address = {}, .streams = [](const Request& head) { return head.target == "/echo"; }});
      stream = client().open(url(), {"POST", "/echo", {}, "first"}, true, 10s,
                             {.on_head = [](const Response& head) { EXPECT_EQ(head.status, 200); },
                              .on_piece = [this](std::string_view piece) { got(piece); },
                              .on_end =
                                  [this](const Result<void>& end) {
                                    EXPECT_TRUE(end.ok()) << end.error().message;
                                    EXPECT_TRUE(expected == received);
                                    done();
                                  }});
    }
    void got(std::string_view piece) {
      received += piece;
      if (received != expected) return;
      if (++sent == 30) return stream->end_body();
      const std::string next(static_cast<std::size_t>(1 + sent * sent * sent * 5), 'a');
      expected += next;
      stream->send(next);
    }
    int sent = 0;
    std::string expected = "first";
    std::string received;
    std::unique_ptr<ClientStream> stream;
  };
  play<Duplex>();
}

TEST_P(Http, each_piece_is_one_chunk) {
  struct Chunks : Scene {
    Chunks(os::System& s, os::Stage& w) : Scene(s, w) {
      start([](std::unique_ptr<Exchange> exchange) {
        exchange->begin(200, {{"Content-Type", "text/event-stream"}});
        for (const char* piece : {"one", "three", ""}) exchange->send(piece);
        exchange->send(std::string(20, 'x'));
        exchange->end();
      });
      RawPeer& peer = raw();
      peer.send({"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"});
      peer.on_end = [this, &peer] {
        EXPECT_TRUE(peer.received.ends_with("\r\n\r\n3\r\none\r\n5\r\nthree\r\n14\r\n" +
                                            std::string(20, 'x') + "\r\n0\r\n\r\n"))
            << peer.received;
        done();
      };
    }
  };
  play<Chunks>();
}

TEST_P(Http, old_clients_get_a_body_that_ends_with_the_connection) {
  struct Old : Scene {
    Old(os::System& s, os::Stage& w) : Scene(s, w) {
      start([](std::unique_ptr<Exchange> exchange) {
        exchange->begin(200, {});
        exchange->send("abc");
        exchange->end();
      });
      RawPeer& peer = raw();
      peer.send({"GET / HTTP/1.0\r\n\r\n"});
      peer.on_end = [this, &peer] {
        EXPECT_TRUE(peer.received.ends_with("\r\n\r\nabc")) << peer.received;
        EXPECT_EQ(peer.received.find("chunked"), std::string::npos);
        done();
      };
    }
  };
  play<Old>();
}

// The same two requests, cut at every place, and byte by byte.
TEST_P(Http, it_does_not_matter_how_bytes_are_cut) {
  struct Cut : Scene {
    Cut(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo());
      next();
    }
    void next() {
      if (at > all.size()) return done();
      peers.clear();
      RawPeer& peer = raw();
      std::vector<std::string> pieces{all.substr(0, at), all.substr(at)};
      if (at == all.size()) {
        pieces.clear();
        for (const char c : all) pieces.emplace_back(1, c);
      }
      std::erase(pieces, "");
      peer.send(pieces);
      peer.on_end = [this, &peer] {
        if (expected.empty()) expected = peer.received;
        EXPECT_EQ(peer.received, expected) << "cut at " << at;
        EXPECT_NE(expected.find("POST abcdefghij"), std::string::npos) << expected;
        ++at;
        later = system.after(Duration::zero(), [this] { next(); });
      };
    }
    const std::string all =
        "POST /chunked HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n6;x=y\r\nefghij"
        "\r\n0\r\nTrailer: 1\r\n\r\nPUT /length HTTP/1.1\r\nConnection: close\r\n"
        "Content-Length: 3\r\n\r\nxyz";
    std::size_t at = 0;
    std::string expected;
  };
  play<Cut>();
}

TEST_P(Http, a_client_that_asks_whether_to_go_on_is_told) {
  struct Continue : Scene {
    Continue(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo());
      RawPeer& peer = raw();
      peer.send(
          {"POST / HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n"
           "Expect: 100-continue\r\n\r\n"});
      peer.on_text = [&peer](const std::string& all) {
        if (all == "HTTP/1.1 100 Continue\r\n\r\n") peer.send({"abc"});
      };
      peer.on_end = [this, &peer] {
        EXPECT_TRUE(peer.received.ends_with("POST abc")) << peer.received;
        done();
      };
    }
  };
  play<Continue>();
}

TEST_P(Http, an_answer_to_head_tells_its_length_only) {
  struct Head : Scene {
    Head(os::System& s, os::Stage& w) : Scene(s, w) {
      start(echo());
      ask({"HEAD", "/", {}, {}}, [this](auto answer) {
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(find_header(answer->headers, "content-length"), "5");
        EXPECT_EQ(answer->body, "");
        ask({"GET", "/", {}, {}}, [this](auto second) {
          EXPECT_EQ(second->body, "GET ");
          EXPECT_EQ(server->connections(), 1u);
          done();
        });
      });
    }
  };
  play<Head>();
}

}  // namespace
}  // namespace edl::http
