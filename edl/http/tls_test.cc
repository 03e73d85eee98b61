// TLS in both worlds, with certificates made for the purpose.
#include "edl/http/tls.h"

#include "edl/http/certificate_test.h"
#include "edl/http/scene_test.h"

namespace edl::http {
namespace {

using os::OnBothStages;
EDL_ON_BOTH_STAGES(Tls);

// An echo server with a certificate, and a client that trusts an authority.
struct Secured : Scene {
  Secured(os::System& s, os::Stage& w)
      : Scene(s, w), authority({.name = "", .now = s.wall_time(), .signer = nullptr}) {}

  void prepare(const std::string& name, Duration valid, const TestIdentity& trusted) {
    const TestIdentity identity(
        {.name = name, .valid = valid, .now = system.wall_time(), .signer = &authority});
    const TlsFiles ours{
        put("certificate", identity.certificate_pem()), put("key", identity.key_pem()), {}};
    auto serving = TlsContext::for_server(system.disk(), ours);
    ASSERT_TRUE(serving.ok()) << serving.error().message;
    server_tls = std::move(serving).value();
    auto asking = TlsContext::for_client(system.disk(),
                                         {{}, {}, put("authorities", trusted.certificate_pem())});
    ASSERT_TRUE(asking.ok()) << asking.error().message;
    client_tls = std::move(asking).value();
    client_options.tls = client_tls.get();
    start(echo(), {.address = {}, .tls = server_tls.get()});
  }
  std::string put(const std::string& name, const std::string& content) {
    const std::string path = stage.folder() + "/" + name;
    EXPECT_TRUE(os::replace_file(system.disk(), path, bytes_of(content)).ok());
    return path;
  }
  Url secure_url() const { return {server->address(), true}; }
  void expect_refusal(const std::string& why) {
    calls.push_back(client().send(secure_url(), {}, 20s, [this, why](auto answer) {
      ASSERT_FALSE(answer.ok());
      EXPECT_EQ(answer.error().code, Code::kInvalid);
      EXPECT_NE(answer.error().message.find(why), std::string::npos) << answer.error().message;
      done();
    }));
  }

  TestIdentity authority;
  std::unique_ptr<TlsContext> server_tls;
  std::unique_ptr<TlsContext> client_tls;
};

TEST_P(Tls, carries_large_messages_and_keeps_the_connection) {
  struct Good : Secured {
    Good(os::System& s, os::Stage& w) : Secured(s, w) {
      prepare("DNS:a.example,IP:127.0.0.1", 24h, authority);
      next();
    }
    void next() {
      const std::string body(1'000'000 + calls.size(), 'b');
      calls.push_back(
          client().send(secure_url(), {"POST", "/", {}, body}, 20s, [this, body](auto answer) {
            ASSERT_TRUE(answer.ok()) << answer.error().message;
            EXPECT_TRUE(answer->body == "POST " + body);
            EXPECT_EQ(server->connections(), 1u);
            if (calls.size() < 3) return next();
            client_.reset();
            waiting();
          }));
    }
    void waiting() {
      if (server->connections() == 0) return done();
      later = system.after(1ms, [this] { waiting(); });
    }
  };
  play<Good>();
}

TEST_P(Tls, refuses_a_certificate_for_another_host) {
  struct WrongHost : Secured {
    WrongHost(os::System& s, os::Stage& w) : Secured(s, w) {
      prepare("DNS:a.example,IP:127.0.0.2", 24h, authority);
      expect_refusal("its certificate is not for 127.0.0.1");
    }
  };
  play<WrongHost>();
}

TEST_P(Tls, refuses_a_certificate_that_has_expired) {
  struct Expired : Secured {
    Expired(os::System& s, os::Stage& w) : Secured(s, w) {
      prepare("IP:127.0.0.1", 59min, authority);
      expect_refusal("its certificate has expired");
    }
  };
  play<Expired>();
}

TEST_P(Tls, refuses_a_certificate_of_an_unknown_authority) {
  struct Unknown : Secured {
    Unknown(os::System& s, os::Stage& w) : Secured(s, w) {
      const TestIdentity other({.name = "", .now = s.wall_time(), .signer = nullptr});
      prepare("IP:127.0.0.1", 24h, other);
      expect_refusal("nobody whom we trust");
    }
  };
  play<Unknown>();
}

TEST_P(Tls, tells_those_who_speak_plain_http_to_it) {
  struct Plain : Secured {
    Plain(os::System& s, os::Stage& w) : Secured(s, w) {
      prepare("IP:127.0.0.1", 24h, authority);
      ask({}, [this](auto answer) {
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->status, 400);
        EXPECT_EQ(answer->body, "This port speaks TLS: use https instead.\n");
        done();
      });
    }
  };
  play<Plain>();
}

TEST_P(Tls, tells_that_the_server_speaks_plain_http) {
  struct Reverse : Secured {
    Reverse(os::System& s, os::Stage& w) : Secured(s, w) {
      prepare("IP:127.0.0.1", 24h, authority);
      start(echo());
      expect_refusal("perhaps it speaks plain HTTP");
    }
  };
  play<Reverse>();
}

TEST_P(Tls, a_silent_peer_does_not_hold_the_handshake_forever) {
  struct Silent : Secured {
    Silent(os::System& s, os::Stage& w) : Secured(s, w) {
      prepare("IP:127.0.0.1", 24h, authority);
      listener =
          system.network()
              .listen({"127.0.0.1", 0, {}}, [this](auto stream) { silent = std::move(stream); })
              .value();
      calls.push_back(
          client().send({listener->address(), true}, {}, 50ms, [this](const auto& answer) {
            EXPECT_EQ(answer.error().code, Code::kUnavailable) << answer.error().message;
            done();
          }));
    }
    std::unique_ptr<os::Listener> listener;
    std::unique_ptr<os::Stream> silent;
  };
  play<Silent>();
}

TEST_P(Tls, files_that_are_wrong_are_named) {
  struct Files : Secured {
    Files(os::System& s, os::Stage& w) : Secured(s, w) {
      const TestIdentity one({.name = "IP:127.0.0.1", .now = s.wall_time(), .signer = &authority});
      const TestIdentity two({.name = "IP:127.0.0.1", .now = s.wall_time(), .signer = &authority});
      const std::string certificate = put("certificate", one.certificate_pem());
      const std::string key = put("key", two.key_pem());
      const std::string junk = put("junk", "junk");
      for (const TlsFiles& files :
           {TlsFiles{certificate, key, {}}, TlsFiles{certificate, junk, {}},
            TlsFiles{junk, key, {}}, TlsFiles{certificate, stage.folder() + "/none", {}},
            TlsFiles{certificate, {}, {}}}) {
        const auto context = TlsContext::for_server(system.disk(), files);
        EXPECT_FALSE(context.ok());
        EXPECT_TRUE(context.error().message.size() > 10);
      }
      EXPECT_FALSE(TlsContext::for_client(system.disk(), {{}, {}, junk}).ok());
      done();
    }
  };
  play<Files>();
}

}  // namespace
}  // namespace edl::http
