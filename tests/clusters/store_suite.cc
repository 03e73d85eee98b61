// What every Store promises, on a real server: store_suite.py starts it and runs this.
//   store_suite --store=http://127.0.0.1:P,... [--members=N] [--runner] [GoogleTest's options]
//   store_suite --stores    names the schemes it was built with
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "edl/base/text.h"
#include "tests/clusters/store_stage.h"

namespace edl::store {
namespace {

constexpr Duration kLease = 2s;  // etcd makes no shorter ones

std::vector<std::string> keys_of(const std::vector<KeyValue>& kvs) {
  std::vector<std::string> keys;
  for (const KeyValue& kv : kvs) keys.push_back(kv.key);
  return keys;
}

TEST_F(StoreSuite, an_absent_key_is_not_found_and_that_is_no_error) {
  const auto found = caller_.find(key("absent"));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(found->has_value());
}

TEST_F(StoreSuite, a_key_is_found_with_its_revisions_and_version) {
  const Revision first = caller_.put(key("a"), "1");
  const Revision second = caller_.put(key("a"), "2");
  EXPECT_GT(second, first);
  const auto found = caller_.find(key("a"));
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ(**found, (KeyValue{.key = key("a"),
                               .create_revision = first,
                               .mod_revision = second,
                               .version = 2,
                               .value = "2"}));
}

TEST_F(StoreSuite, a_key_is_created_only_if_it_is_absent) {
  const Change create{.conditions = {{key("a"), 0}}, .puts = {{key("a"), "mine"}}};
  EXPECT_TRUE(caller_.change(create).value().happened);
  const Change late{.conditions = {{key("a"), 0}}, .puts = {{key("a"), "theirs"}}};
  EXPECT_FALSE(caller_.change(late).value().happened);
  EXPECT_EQ(caller_.value(key("a")), "mine");
}

TEST_F(StoreSuite, a_key_is_changed_only_if_nobody_changed_it_meanwhile) {
  const Revision first = caller_.put(key("a"), "1");
  const Change change{.conditions = {{key("a"), first}}, .puts = {{key("a"), "2"}}};
  const auto changed = caller_.change(change);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_TRUE(changed->happened);
  EXPECT_EQ(caller_.find(key("a")).value()->mod_revision, changed->revision);
  EXPECT_FALSE(caller_.change(change).value().happened);
  EXPECT_EQ(caller_.value(key("a")), "2");
}

TEST_F(StoreSuite, two_keys_change_together_or_not_at_all) {
  const Revision a = caller_.put(key("a"), "1");
  const Revision b = caller_.put(key("b"), "1");
  const Change both{.conditions = {{key("a"), a}, {key("b"), b}},
                    .puts = {{key("a"), "2"}, {key("b"), "2"}, {key("new/deep"), "2"}}};
  const auto changed = caller_.change(both);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_TRUE(changed->happened);
  for (const std::string name : {"a", "b", "new/deep"}) {
    const auto found = caller_.find(key(name)).value();
    EXPECT_EQ(found->value, "2") << name;
    EXPECT_EQ(found->mod_revision, changed->revision) << name;
  }
}

TEST_F(StoreSuite, a_conflict_leaves_nothing_behind) {
  const Revision a = caller_.put(key("a"), "1");
  caller_.put(key("b"), "1");
  const Change change{.conditions = {{key("a"), a}, {key("b"), a}},
                      .puts = {{key("a"), "2"}, {key("new/deep"), "2"}},
                      .deletes = {key("b")}};
  EXPECT_FALSE(caller_.change(change).value().happened);
  EXPECT_EQ(keys_of(caller_.list(folder()).value()),
            (std::vector<std::string>{key("a"), key("b")}));
  EXPECT_EQ(caller_.value(key("a")), "1");
}

TEST_F(StoreSuite, a_condition_may_be_about_a_key_that_is_not_changed) {
  const Revision guard = caller_.put(key("guard"), "1");
  const Change guarded{.conditions = {{key("guard"), guard}, {key("absent"), 0}},
                       .puts = {{key("a"), "1"}}};
  EXPECT_TRUE(caller_.change(guarded).value().happened);
  EXPECT_EQ(caller_.value(key("absent")), "(none)");
  caller_.put(key("absent"), "no more");
  EXPECT_FALSE(caller_.change(guarded).value().happened);
  caller_.remove(key("absent"));
  caller_.put(key("guard"), "2");
  EXPECT_FALSE(caller_.change(guarded).value().happened);
}

TEST_F(StoreSuite, a_deleted_key_is_gone_and_can_be_made_again) {
  const Revision first = caller_.put(key("a"), "1");
  EXPECT_TRUE(
      caller_.change({.conditions = {{key("a"), first}}, .deletes = {key("a")}}).value().happened);
  EXPECT_EQ(caller_.value(key("a")), "(none)");
  caller_.remove(key("a"));  // deleting what is not there is no error
  const Revision again = caller_.put(key("a"), "2");
  const auto found = caller_.find(key("a")).value();
  EXPECT_EQ(found->create_revision, again);
  EXPECT_EQ(found->version, 1);
}

TEST_F(StoreSuite, a_key_may_be_above_other_keys) {
  caller_.put(key("a"), "above");
  caller_.put(key("a/b/c"), "below");
  EXPECT_EQ(keys_of(caller_.list(folder()).value()),
            (std::vector<std::string>{key("a"), key("a/b/c")}));
  EXPECT_EQ(caller_.value(key("a/b")), "(none)");
  caller_.remove(key("a"));
  EXPECT_EQ(caller_.value(key("a")), "(none)");
  EXPECT_EQ(caller_.value(key("a/b/c")), "below");
  EXPECT_TRUE(caller_.change({.conditions = {{key("a"), 0}}, .puts = {{key("a"), "again"}}})
                  .value()
                  .happened);
  EXPECT_EQ(caller_.value(key("a")), "again");
  EXPECT_EQ(caller_.value(key("a/b/c")), "below");
}

TEST_F(StoreSuite, values_are_any_bytes_and_may_be_empty) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const std::string zero(1, '\0');
  const std::vector<std::string> values{"",  zero,       zero + zero, zero + "a", "\x01",
                                        all, "\xff\xfe", "a\n",       all + all,  "null"};
  for (std::size_t i = 0; i < values.size(); ++i) caller_.put(key(text("v", i)), values[i]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(caller_.value(key(text("v", i))), values[i]) << i;
  }
  EXPECT_EQ(caller_.list(folder()).value().size(), values.size());
}

TEST_F(StoreSuite, a_value_may_be_large) {
  const std::string large(900'000, 'x');
  caller_.put(key("large"), large);
  EXPECT_EQ(caller_.value(key("large")), large);
}

TEST_F(StoreSuite, a_prefix_is_listed_in_order_whatever_its_size) {
  constexpr int kKeys = 1203;
  Change change;
  for (int i = 0; i < kKeys; ++i) {
    change.puts.push_back({key(text("many/", 10'000 + i * 7 % kKeys)), text(i), 0});
    if (change.puts.size() < 100 && i + 1 < kKeys) continue;
    ASSERT_TRUE(caller_.change(change).value().happened);
    change.puts.clear();
  }
  const auto listed = caller_.list(key("many/"));
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  ASSERT_EQ(listed->size(), static_cast<std::size_t>(kKeys));
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_EQ((*listed)[static_cast<std::size_t>(i)].key, key(text("many/", 10'000 + i)));
  }
}

TEST_F(StoreSuite, a_prefix_is_the_beginning_of_keys) {
  for (const char* name : {"a/b", "a/bc", "a/b/c", "a/b/c/d", "a/c", "a-b", "ab"}) {
    caller_.put(key(name), name);
  }
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys_of(caller_.list(key("a/b")).value()),
            (Keys{key("a/b"), key("a/b/c"), key("a/b/c/d"), key("a/bc")}));
  EXPECT_EQ(keys_of(caller_.list(key("a/b/")).value()), (Keys{key("a/b/c"), key("a/b/c/d")}));
  EXPECT_EQ(keys_of(caller_.list(key("a/")).value()),
            (Keys{key("a/b"), key("a/b/c"), key("a/b/c/d"), key("a/bc"), key("a/c")}));
  EXPECT_EQ(keys_of(caller_.list(key("a")).value()),
            (Keys{key("a-b"), key("a/b"), key("a/b/c"), key("a/b/c/d"), key("a/bc"), key("a/c"),
                  key("ab")}));
  EXPECT_TRUE(caller_.list(key("nothing/")).value().empty());
}

// Two keys always change together; a list that mixes two moments would see them differ.
TEST_F(StoreSuite, a_list_shows_one_moment) {
  Caller writer(stage_);
  std::promise<void> written;
  const os::Thread thread("writer", [&] {
    for (int i = 0; i < 200; ++i) {
      writer.insist({.puts = {{key("a"), text(i)}, {key("m/deep"), text(i)}, {key("z"), text(i)}}});
    }
    written.set_value();
  });
  auto over = written.get_future();
  int lists = 0;
  while (over.wait_for(0s) != std::future_status::ready) {
    const auto listed = caller_.list(folder());
    if (!listed.ok()) {  // too busy to be seen at one moment
      EXPECT_EQ(listed.error().code, Code::kUnavailable) << listed.error().message;
      continue;
    }
    ++lists;
    if (listed->empty()) continue;
    ASSERT_EQ(listed->size(), 3u);
    EXPECT_EQ((*listed)[0].value, (*listed)[1].value);
    EXPECT_EQ((*listed)[0].value, (*listed)[2].value);
  }
  EXPECT_GT(lists, 0);
}

TEST_F(StoreSuite, a_dropped_call_never_calls_back) {
  bool called = false;
  stage_.on_loop([&] {
    os::Pending pending = caller_.store().find(key("a"), [&](const auto&) { called = true; });
    pending.cancel();
    pending =
        caller_.store().change({.puts = {{key("a"), "1", 0}}}, [&](const auto&) { called = true; });
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(caller_.find(key("b")).ok());
  stage_.on_loop([&] { EXPECT_FALSE(called); });
}

TEST_F(StoreSuite, a_store_may_go_while_much_is_under_way) {
  for (int i = 0; i < 20; ++i) {
    Caller brief(stage_);
    std::vector<os::Pending> pendings;
    stage_.on_loop([&] {
      for (int n = 0; n < 10; ++n) {
        const std::string mine = key(text(i, "/", n));
        pendings.push_back(brief.store().find(mine, [](const auto&) {}));
        pendings.push_back(brief.store().change({.puts = {{mine, "1", 0}}}, [](const auto&) {}));
        pendings.push_back(brief.store().follow(folder(), [](const auto&) {}));
      }
      pendings.push_back(brief.store().grant(kLease, [](const auto&) {}));
    });
    if (i % 2 == 1) {
      EXPECT_TRUE(brief.find(key("a")).ok());
    }
    stage_.on_loop([&] { pendings.clear(); });
  }
}

TEST_F(StoreSuite, a_key_goes_when_its_lease_is_over_and_not_before) {
  Facts facts(caller_, folder());
  const Time asked = stage_.system().now();
  const auto lease = caller_.grant(kLease);
  ASSERT_TRUE(lease.ok()) << lease.error().message;
  caller_.put(key("a"), "1", *lease);
  EXPECT_EQ(caller_.find(key("a")).value()->lease, *lease);
  caller_.put(key("stays"), "1");
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kDeleted, key("a")));
  EXPECT_GE(stage_.system().now() - asked, kLease);
  EXPECT_EQ(caller_.value(key("a")), "(none)");
  EXPECT_EQ(caller_.value(key("stays")), "1");
  EXPECT_EQ(caller_.renew(*lease).error().code, Code::kNotFound);
}

TEST_F(StoreSuite, a_revoked_lease_takes_its_keys_along_at_once) {
  const LeaseId lease = caller_.grant(600s).value();
  caller_.put(key("a"), "1", lease);
  caller_.put(key("b"), "1", lease);
  ASSERT_TRUE(caller_.revoke(lease).ok());
  EXPECT_TRUE(caller_.list(folder()).value().empty());
  EXPECT_EQ(caller_.renew(lease).error().code, Code::kNotFound);
  const auto late = caller_.change({.puts = {{key("c"), "1", lease}}});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::kNotFound) << late.error().message;
}

// A second lease of the same length tells when the first would have been over.
TEST_F(StoreSuite, a_renewed_lease_outlasts_its_length) {
  Facts facts(caller_, folder());
  const LeaseId renewed = caller_.grant(kLease).value();
  caller_.put(key("renewed"), "1", renewed);
  for (int round = 1; round <= 2; ++round) {
    caller_.put(key("forgotten"), "1", caller_.grant(kLease).value());
    while (!facts.wait_for(Fact::Kind::kDeleted, key("forgotten"), round, 200ms)) {
      const auto length = caller_.renew(renewed);
      ASSERT_TRUE(length.ok()) << length.error().message;
      EXPECT_GT(*length, 0s);
    }
  }
  EXPECT_EQ(caller_.value(key("renewed")), "1");
  EXPECT_FALSE(facts.wait_for(Fact::Kind::kDeleted, key("renewed"), 1, 0s));
}

TEST_F(StoreSuite, a_key_moves_from_lease_to_lease_and_to_none) {
  const LeaseId first = caller_.grant(600s).value();
  const LeaseId second = caller_.grant(600s).value();
  caller_.put(key("a"), "1", first);
  caller_.put(key("a"), "2", second);
  caller_.put(key("b"), "1", first);
  caller_.put(key("b"), "2");
  caller_.put(key("c"), "1");
  caller_.put(key("c"), "2", first);
  ASSERT_TRUE(caller_.revoke(first).ok());
  EXPECT_EQ(caller_.value(key("a")), "2");
  EXPECT_EQ(caller_.value(key("b")), "2");
  EXPECT_EQ(caller_.value(key("c")), "(none)");
  ASSERT_TRUE(caller_.revoke(second).ok());
  EXPECT_EQ(caller_.value(key("a")), "(none)");
  EXPECT_EQ(caller_.value(key("b")), "2");
}

TEST_F(StoreSuite, follow_tells_the_picture_then_current_then_changes) {
  caller_.put(key("a"), "1");
  caller_.put(key("deep/er/b"), "1");
  Facts facts(caller_, folder());
  facts.wait_for({{key("a"), "1"}, {key("deep/er/b"), "1"}});
  const auto first = facts.told();
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first.back(), "current");
  Caller other(stage_);
  other.put(key("a"), "2");
  facts.wait_for({{key("a"), "2"}, {key("deep/er/b"), "1"}});
  other.put(key("new/c"), "1");
  facts.wait_for({{key("a"), "2"}, {key("deep/er/b"), "1"}, {key("new/c"), "1"}});
  other.remove(key("a"));
  facts.wait_for({{key("deep/er/b"), "1"}, {key("new/c"), "1"}});
  const auto told = facts.told();
  EXPECT_EQ(std::vector(told.begin() + 3, told.end()),
            (std::vector<std::string>{"put " + key("a") + "=2", "put " + key("new/c") + "=1",
                                      "deleted " + key("a")}));
}

TEST_F(StoreSuite, follow_of_nothing_is_current_at_once) {
  Facts facts(caller_, key("nothing/"));
  facts.wait_for({});
  EXPECT_EQ(facts.told(), (std::vector<std::string>{"current"}));
  caller_.put(key("nothing/no/more"), "1");
  facts.wait_for({{key("nothing/no/more"), "1"}});
}

TEST_F(StoreSuite, follow_takes_a_prefix_as_the_beginning_of_keys) {
  caller_.put(key("a/b"), "1");
  caller_.put(key("a/c"), "1");
  Facts facts(caller_, key("a/b"));
  Facts below(caller_, key("a/b/"));
  facts.wait_for({{key("a/b"), "1"}});
  caller_.put(key("a/c"), "2");
  caller_.put(key("a/bc"), "1");
  caller_.put(key("a/b/deep/er"), "1");
  facts.wait_for({{key("a/b"), "1"}, {key("a/bc"), "1"}, {key("a/b/deep/er"), "1"}});
  below.wait_for({{key("a/b/deep/er"), "1"}});
  caller_.remove(key("a/b"));
  facts.wait_for({{key("a/bc"), "1"}, {key("a/b/deep/er"), "1"}});
  EXPECT_EQ(below.told().back(), "put " + key("a/b/deep/er") + "=1");
}

TEST_F(StoreSuite, follow_never_misses_the_last_state_of_a_key) {
  Facts facts(caller_, folder());
  facts.wait_for({});
  constexpr int kWriters = 4;
  constexpr int kRounds = 60;
  std::vector<std::unique_ptr<os::Thread>> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(std::make_unique<os::Thread>("writer", [this, w] {
      Caller writer(stage_);
      for (int i = 0; i <= kRounds; ++i) {
        writer.put(key(text(w, "/often")), text(i));
        writer.put(key(text(w, "/comes/and/goes")), text(i));
        writer.remove(key(text(w, "/comes/and/goes")));
      }
    }));
  }
  writers.clear();
  Facts::Picture last;
  for (int w = 0; w < kWriters; ++w) last[key(text(w, "/often"))] = text(kRounds);
  facts.wait_for(last);
}

TEST_F(StoreSuite, follow_ends_with_its_pending) {
  Facts facts(caller_, folder());
  Facts other(caller_, folder());
  caller_.put(key("a"), "1");
  facts.wait_for({{key("a"), "1"}});
  facts.stop();
  caller_.put(key("a"), "2");
  other.wait_for({{key("a"), "2"}});
  EXPECT_EQ(facts.picture(), (Facts::Picture{{key("a"), "1"}}));
}

}  // namespace
}  // namespace edl::store

namespace {

int usage(const std::string& argument) {
  std::fprintf(stderr,
               "store_suite: %s\nusage: store_suite --store=URL,... [--members=N] "
               "[--runner]\n",
               argument.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& setup = edl::store::setup();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--store=")) {
      setup.store = argument.substr(8);
    } else if (argument.starts_with("--members=")) {
      setup.members = std::atoi(argument.c_str() + 10);
    } else if (argument == "--stores") {
#ifdef EDL_WITH_ZOOKEEPER
      std::puts("http zk");
#else
      std::puts("http");
#endif
      return 0;
    } else if (argument == "--runner") {
      setup.has_runner = true;
    } else {
      return usage(edl::text("there is no option ", argument));
    }
  }
  if (setup.store.empty()) return usage("say which store");
  return RUN_ALL_TESTS();
}
