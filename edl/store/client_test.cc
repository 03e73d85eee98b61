// The client and the embedded store in a virtual cluster without chance: what each promises.
#include "edl/store/client.h"

#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"
#include "edl/store/etcd_store.h"
#include "edl/store/server.h"

namespace edl::store {
namespace {

constexpr const char* kToken = "token";

class Cluster {
 public:
  Cluster() : world_({.seed = 9, .quiet = true}) { client_node_ = world_.add_node("client"); }

  // A store on a machine of its own; `folder` makes it another one after a restart.
  int add_server(const std::string& host) {
    const int node = world_.add_node(host);
    world_.install(host, [](os::System& system, const os::Arguments& argv) {
      auto server = StoreServer::start(
          system, {.address = {"0.0.0.0", 2379, {}}, .folder = argv.at(1), .token = kToken});
      EXPECT_TRUE(server.ok());
      return std::unique_ptr<os::Program>(std::move(server).value());
    });
    world_.start(node, {host, "/store"});
    return node;
  }

  ClientOptions options(const std::vector<std::string>& hosts) const {
    ClientOptions options{.token = kToken};
    for (const std::string& host : hosts) options.endpoints.push_back({{host, 2379, {}}, false});
    return options;
  }

  // The client's process: made by `make`, runs until `done`.
  void run(const std::function<void(os::System&)>& make, const std::function<bool()>& done) {
    world_.install("client", [&](os::System& system, const os::Arguments&) {
      make(system);
      return std::make_unique<os::Program>();
    });
    world_.start(client_node_, {"client"});
    EXPECT_TRUE(world_.run_until(done, 120s));
  }
  os::VirtualWorld& world() { return world_; }
  void kill(int node) {
    for (const int pid : world_.processes_on(node)) world_.send_signal(pid, os::Signal::kKill);
  }

 private:
  os::VirtualWorld world_;
  int client_node_;
};

TEST(StoreClient, goes_on_to_the_next_endpoint) {
  Cluster cluster;
  cluster.world().add_node("nobody");
  cluster.add_server("second");
  std::unique_ptr<EtcdStore> store;
  os::Pending call;
  std::optional<Result<Changed>> answer;
  cluster.run(
      [&](os::System& system) {
        store = std::make_unique<EtcdStore>(system, cluster.options({"nobody", "second"}));
        call = store->change({.puts = {{"/a", "1", 0}}},
                             [&](Result<Changed> changed) { answer = changed; });
      },
      [&] { return answer.has_value(); });
  ASSERT_TRUE(answer->ok());
  EXPECT_TRUE((*answer)->happened);
}

TEST(StoreClient, a_store_that_was_replaced_is_refused_with_a_sentence) {
  Cluster cluster;
  const int node = cluster.add_server("server");
  std::unique_ptr<EtcdStore> store;
  os::Pending call;
  std::vector<Result<Changed>> answers;
  const auto put = [&] {
    call = store->change({.puts = {{"/a", "1", 0}}},
                         [&](Result<Changed> changed) { answers.push_back(changed); });
  };
  cluster.run(
      [&](os::System& system) {
        store = std::make_unique<EtcdStore>(system, cluster.options({"server"}));
        put();
      },
      [&] { return answers.size() == 1; });
  ASSERT_TRUE(answers[0].ok());
  cluster.kill(node);
  cluster.world().start(node, {"server", "/another"});
  cluster.world().run_for(1s);
  put();
  EXPECT_TRUE(cluster.world().run_until([&] { return answers.size() == 2; }, 60s));
  ASSERT_FALSE(answers[1].ok());
  EXPECT_EQ(answers[1].error().code, Code::kConflict);
  EXPECT_NE(answers[1].error().message.find("was replaced"), std::string::npos);
}

TEST(StoreClient, a_wrong_token_is_refused_with_a_sentence) {
  Cluster cluster;
  cluster.add_server("server");
  std::unique_ptr<EtcdStore> store;
  os::Pending call;
  std::optional<Result<std::optional<KeyValue>>> answer;
  cluster.run(
      [&](os::System& system) {
        ClientOptions options = cluster.options({"server"});
        options.token = "another";
        store = std::make_unique<EtcdStore>(system, options);
        call = store->find("/a", [&](auto found) { answer = std::move(found); });
      },
      [&] { return answer.has_value(); });
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code, Code::kInvalid);
}

TEST(StoreClient, a_list_of_many_pages_is_one_picture) {
  Cluster cluster;
  cluster.add_server("server");
  std::unique_ptr<EtcdStore> store;
  os::Pending call;
  int written = 0;
  std::optional<Result<std::vector<KeyValue>>> listed;
  std::function<void()> write = [&] {
    if (written == 1234) {
      call = store->list("/k/", [&](auto answer) { listed = std::move(answer); });
      return;
    }
    Change change;
    for (int i = 0; i < 100 && written < 1234; ++i) {
      change.puts.push_back({text("/k/", 10'000 + written++), "v", 0});
    }
    call = store->change(change, [&](const Result<Changed>& changed) {
      ASSERT_TRUE(changed.ok());
      write();
    });
  };
  cluster.run(
      [&](os::System& system) {
        store = std::make_unique<EtcdStore>(system, cluster.options({"server"}));
        write();
      },
      [&] { return listed.has_value(); });
  ASSERT_TRUE(listed->ok());
  ASSERT_EQ((*listed)->size(), 1234u);
  for (int i = 0; i < 1234; ++i) {
    EXPECT_EQ((**listed)[static_cast<std::size_t>(i)].key, text("/k/", 10'000 + i));
  }
}

TEST(StoreClient, many_watches_share_one_stream) {
  Cluster cluster;
  cluster.add_server("server");
  std::unique_ptr<EtcdStore> store;
  std::vector<os::Pending> following;
  os::Pending call;
  int current = 0;
  int puts = 0;
  cluster.run(
      [&](os::System& system) {
        store = std::make_unique<EtcdStore>(system, cluster.options({"server"}));
        for (int i = 0; i < 20; ++i) {
          following.push_back(store->follow(text("/k/", i, "/"), [&](const Result<Fact>& fact) {
            ASSERT_TRUE(fact.ok());
            current += fact->kind == Fact::Kind::kCurrent ? 1 : 0;
            puts += fact->kind == Fact::Kind::kPut ? 1 : 0;
          }));
        }
      },
      [&] { return current == 20; });
  cluster.world().run_for(1s);
  const std::uint64_t opened = store->watches().streams_opened();
  EXPECT_LE(opened, 3u);
  call = store->change({.puts = {{"/k/7/a", "1", 0}, {"/k/9/a", "1", 0}}}, [](auto) {});
  EXPECT_TRUE(cluster.world().run_until([&] { return puts == 2; }, 10s));
  cluster.world().run_for(60s);  // the store speaks up, so nothing is opened anew
  EXPECT_EQ(store->watches().streams_opened(), opened);
}

// The store lost its power and says nothing; the stream only listens and would wait for long.
TEST(StoreClient, a_call_without_an_answer_casts_doubt_on_a_silent_watch) {
  Cluster cluster;
  const int node = cluster.add_server("server");
  std::unique_ptr<EtcdStore> store;
  std::unique_ptr<EtcdStore> other;
  os::Pending following;
  std::vector<std::string> told;
  cluster.run(
      [&](os::System& system) {
        ClientOptions options = cluster.options({"server"});
        options.limit = 1s;
        store = std::make_unique<EtcdStore>(system, options, WatchOptions{.silence_max = 60s});
        other = std::make_unique<EtcdStore>(system, options);
        following = store->follow("/k/", [&](const Result<Fact>& fact) {
          ASSERT_TRUE(fact.ok());
          told.push_back(fact->kv.key);
        });
      },
      [&] { return told.size() == 1; });
  cluster.world().run_for(10s);  // all that was sent has arrived
  cluster.world().cut_power(node);
  cluster.world().run_for(100ms);
  cluster.world().boot(node);
  cluster.world().start(node, {"server", "/store"});
  os::Pending call;
  const auto put = [&](EtcdStore& by, const std::string& key) {
    std::optional<Result<Changed>> answer;
    call = by.change({.puts = {{key, "1", 0}}}, [&](auto changed) { answer = std::move(changed); });
    ASSERT_TRUE(cluster.world().run_until([&] { return answer.has_value(); }, 10s));
  };
  put(*store, "/elsewhere/a");  // its connection is as dead as the stream
  for (int i = 0; i < 3; ++i) put(*other, "/k/a");
  EXPECT_TRUE(cluster.world().run_until([&] { return told.size() > 1; }, 5s));
}

TEST(StoreClient, who_was_away_for_too_long_is_told_the_difference) {
  Cluster cluster;
  const int node = cluster.add_server("server");
  std::unique_ptr<EtcdStore> store;
  std::unique_ptr<EtcdStore> other;
  os::Pending following;
  std::vector<std::string> told;
  cluster.run(
      [&](os::System& system) {
        store = std::make_unique<EtcdStore>(system, cluster.options({"server"}),
                                            WatchOptions{.silence_max = 8s});
        other = std::make_unique<EtcdStore>(system, cluster.options({"server"}));
        following = store->follow("/k/", [&](const Result<Fact>& fact) {
          ASSERT_TRUE(fact.ok());
          told.push_back(text(static_cast<int>(fact->kind), fact->kv.key, fact->kv.value));
        });
      },
      [&] { return told.size() == 1; });
  os::Pending call;
  const auto change = [&](const Change& what) {
    std::optional<Result<Changed>> answer;
    do {  // its connection may be dead, too
      answer.reset();
      call = other->change(what, [&](Result<Changed> changed) { answer = std::move(changed); });
      ASSERT_TRUE(cluster.world().run_until([&] { return answer.has_value(); }, 10s));
    } while (!answer->ok());
  };
  change({.puts = {{"/k/a", "1", 0}, {"/k/b", "1", 0}, {"/k/c", "1", 0}}});
  EXPECT_TRUE(cluster.world().run_until([&] { return told.size() == 4; }, 10s));
  told.clear();
  cluster.world().cut_link(node, 0);  // it does not hear that its stream is dead
  cluster.kill(node);
  cluster.world().run_for(100ms);
  cluster.world().heal_link(node, 0);
  cluster.world().start(node, {"server", "/store"});
  change({.puts = {{"/k/b", "2", 0}}});
  change({.deletes = {"/k/c"}});
  change({.puts = {{"/other", "", 0}}});
  std::optional<Result<CompactionResponse>> compacted;
  call = other->client().compact({.revision = 4}, [&](auto answer) { compacted = answer; });
  ASSERT_TRUE(cluster.world().run_until([&] { return compacted.has_value(); }, 10s));
  ASSERT_TRUE(compacted->ok());
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(cluster.world().run_until([&] { return told.size() == 3; }, 60s));
  EXPECT_EQ(told, (std::vector<std::string>{"0/k/b2", "1/k/c", "2"}));
}

}  // namespace
}  // namespace edl::store
