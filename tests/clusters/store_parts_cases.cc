// Cases of store_suite: what is built on a Store, and what happens when servers die.
#include <map>
#include <set>

#include "edl/base/text.h"
#include "edl/store/leader.h"
#include "edl/store/registration.h"
#include "edl/store/settle.h"
#include "tests/clusters/store_stage.h"

namespace edl::store {
namespace {

constexpr int kMany = 8;
constexpr int kTries = 20;
constexpr Duration kLease = 2s;

void all_at_once(const std::function<void(int)>& body) {
  std::vector<std::unique_ptr<os::Thread>> threads;
  for (int i = 0; i < kMany; ++i) {
    threads.push_back(std::make_unique<os::Thread>("many", [&body, i] { body(i); }));
  }
}

class LeaderCalls {
 public:
  LeaderCalls(Caller& caller, const std::string& key)
      : caller_(caller), leader_(caller.store(), key) {}

  Result<Leadership> find() {
    return caller_.stage().answer<Leadership>(
        [&](auto done) { return leader_.find(std::move(done)); });
  }
  Result<Leadership> take(const std::string& id, const Leadership& before) {
    return caller_.stage().answer<Leadership>(
        [&](auto done) { return leader_.take(id, before, kPatience / 2, std::move(done)); });
  }

 private:
  Caller& caller_;
  LeaderKey leader_;
};

// Who won which ballot, as the takers saw it and as the key showed it.
class Ballots {
 public:
  void won(std::uint64_t ballot, const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto [at, first] = winners_.emplace(ballot, id);
    EXPECT_TRUE(first) << "ballot " << ballot << " was won by " << at->second << " and " << id;
  }
  // The key shows a later one: whether this taker had it in between, nobody can tell any more.
  void passed(std::uint64_t ballot) {
    const std::lock_guard lock(mutex_);
    passed_.insert(ballot);
  }
  std::map<std::uint64_t, std::string> winners() {
    const std::lock_guard lock(mutex_);
    return winners_;
  }
  bool may_be_nobodys(std::uint64_t ballot) {
    const std::lock_guard lock(mutex_);
    return passed_.contains(ballot);
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> winners_;
  std::set<std::uint64_t> passed_;
};

void take_often(Caller& caller, const std::string& key, const std::string& id, Ballots& ballots) {
  LeaderCalls leader(caller, key);
  std::uint64_t seen = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto before = leader.find();
    if (!before.ok()) continue;  // a server is dead just now; nothing was claimed
    EXPECT_GE(before->ballot, seen) << "the ballot fell";
    const auto after = leader.take(id, *before);
    ASSERT_TRUE(after.ok()) << after.error().message;
    EXPECT_GT(after->ballot, before->ballot);
    seen = after->ballot;
    const std::uint64_t next = before->ballot + 1;
    if (after->id == id && after->ballot == next) ballots.won(next, id);
    if (after->ballot > next) ballots.passed(next);
  }
}

// Each ballot has a winner, except, where servers die, one whose winner did not get the answer
// before the next one won.
void expect_no_gaps(LeaderCalls leader, Ballots& ballots, bool servers_die) {
  const auto last = leader.find();
  ASSERT_TRUE(last.ok()) << last.error().message;
  const auto winners = ballots.winners();
  EXPECT_GE(last->ballot, static_cast<std::uint64_t>(kTries));
  for (std::uint64_t ballot = 1; ballot <= last->ballot; ++ballot) {
    const bool may_be_nobodys = servers_die && ballots.may_be_nobodys(ballot);
    EXPECT_TRUE(winners.contains(ballot) || may_be_nobodys) << "ballot " << ballot;
  }
  ASSERT_FALSE(winners.empty());
  EXPECT_EQ(winners.rbegin()->first, last->ballot);
  EXPECT_EQ(last->id, winners.rbegin()->second);
}

TEST_F(StoreSuite, there_is_no_leader_until_one_takes_the_lead) {
  LeaderCalls leader(caller_, key("leader"));
  const auto none = leader.find();
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_EQ(none->ballot, 0u);
  const auto taken = leader.take("a", *none);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  const auto found = leader.find();
  EXPECT_EQ(found->ballot, 1u);
  EXPECT_EQ(found->id, "a");
  EXPECT_EQ(found->claim, taken->claim);
  const auto late = leader.take("b", *none);
  ASSERT_TRUE(late.ok()) << late.error().message;
  EXPECT_EQ(late->id, "a");
}

TEST_F(StoreSuite, a_leader_may_take_the_lead_again_after_himself) {
  LeaderCalls leader(caller_, key("leader"));
  Leadership mine;
  for (std::uint64_t ballot = 1; ballot <= 3; ++ballot) {
    const auto taken = leader.take("a", mine);
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    EXPECT_EQ(taken->ballot, ballot);
    EXPECT_EQ(taken->revision, leader.find()->revision);
    mine = *taken;
  }
}

TEST_F(StoreSuite, ballots_only_grow_and_each_has_one_winner) {
  Ballots ballots;
  all_at_once([&](int i) {
    Caller mine(stage_);
    take_often(mine, key("leader"), text("taker ", i), ballots);
  });
  expect_no_gaps(LeaderCalls(caller_, key("leader")), ballots, false);
}

TEST_F(StoreSuite, a_key_put_once_has_one_value_for_all) {
  for (int round = 0; round < 5; ++round) {
    std::mutex mutex;
    std::map<std::string, int> seen;
    all_at_once([&](int i) {
      Caller mine(stage_);
      const auto value = stage_.answer<std::string>([&](auto done) {
        return put_if_absent(mine.store(), key(text("result", round)), text("of ", i),
                             kPatience / 2, std::move(done));
      });
      const std::lock_guard lock(mutex);
      ++seen[value.ok() ? *value : value.error().message];
    });
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen.begin()->second, kMany);
    EXPECT_EQ(caller_.value(key(text("result", round))), seen.begin()->first);
  }
}

// A registration with a store of its own, as another process would have.
class Registered {
 public:
  Registered(Stage& stage, const std::string& key) : caller_(stage) {
    stage.on_loop([&] {
      registration_ = std::make_unique<Registration>(
          caller_.store(), RegistrationOptions{.key = key, .value = "here", .lease = kLease});
    });
  }
  ~Registered() { end(); }

  // Without leaving, as a process that is killed.
  void end() {
    caller_.stage().on_loop([this] { registration_.reset(); });
  }
  void leave() {
    std::promise<void> left;
    caller_.stage().on_loop([&] { registration_->leave([&] { left.set_value(); }); });
    EXPECT_EQ(left.get_future().wait_for(kPatience), std::future_status::ready);
  }
  LeaseId lease() {
    LeaseId lease = 0;
    caller_.stage().on_loop([&] { lease = registration_->lease(); });
    return lease;
  }
  Caller& caller() { return caller_; }

 private:
  Caller caller_;
  std::unique_ptr<Registration> registration_;
};

TEST_F(StoreSuite, a_registration_appears_and_stays_longer_than_its_lease) {
  Facts facts(caller_, folder());
  Registered registered(stage_, key("worker"));
  facts.wait_for({{key("worker"), "here"}});
  caller_.put(key("clock"), "1", caller_.grant(2 * kLease).value());
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kDeleted, key("clock")));
  EXPECT_FALSE(facts.wait_for(Fact::Kind::kDeleted, key("worker"), 1, 0s));
  registered.leave();
  EXPECT_EQ(caller_.value(key("worker")), "(none)");
}

TEST_F(StoreSuite, a_registration_comes_back_when_its_lease_is_revoked) {
  Facts facts(caller_, folder());
  Registered registered(stage_, key("worker"));
  facts.wait_for({{key("worker"), "here"}});
  // In ZooKeeper only who made a session can end it.
  Caller& revoker = setup().is_zookeeper() ? registered.caller() : caller_;
  ASSERT_TRUE(revoker.revoke(registered.lease()).ok());
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kDeleted, key("worker"), 1));
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kPut, key("worker"), 2));
  EXPECT_EQ(caller_.value(key("worker")), "here");
}

TEST_F(StoreSuite, a_registration_goes_when_nobody_renews_it) {
  Facts facts(caller_, folder());
  Registered registered(stage_, key("worker"));
  facts.wait_for({{key("worker"), "here"}});
  registered.end();  // the store lives on
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kDeleted, key("worker")));
}

TEST_F(StoreSuite, a_registration_goes_with_its_store) {
  Facts facts(caller_, folder());
  {
    Registered registered(stage_, key("worker"));
    facts.wait_for({{key("worker"), "here"}});
  }
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kDeleted, key("worker")));
}

class StoreFaults : public StoreSuite {
 protected:
  void SetUp() override {
    if (!setup().has_runner) GTEST_SKIP() << "needs a runner that kills servers";
  }
};

TEST_F(StoreFaults, follow_survives_the_death_and_return_of_the_server) {
  caller_.put(key("a"), "1");
  caller_.put(key("b"), "1");
  Facts facts(caller_, folder());
  facts.wait_for({{key("a"), "1"}, {key("b"), "1"}});
  ask_runner("kill all");
  const auto away = caller_.change({.puts = {{key("a"), "lost"}}});
  ASSERT_FALSE(away.ok());
  EXPECT_TRUE(away.error().code == Code::kUnavailable || away.error().code == Code::kTimeout)
      << away.error().message;
  EXPECT_FALSE(caller_.find(key("a")).ok());
  EXPECT_EQ(facts.told().size(), 3u) << "while the store is away nothing is told";
  ask_runner("restart");
  Caller other(stage_);
  other.insist({.puts = {{key("a"), "2", 0}, {key("c"), "1", 0}}, .deletes = {key("b")}});
  facts.wait_for({{key("a"), "2"}, {key("c"), "1"}});
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kPut, key("c")));
  EXPECT_EQ(caller_.value(key("b")), "(none)");
}

TEST_F(StoreFaults, a_registration_survives_the_death_and_return_of_the_server) {
  Facts facts(caller_, folder());
  Registered registered(stage_, key("worker"));
  facts.wait_for({{key("worker"), "here"}});
  ask_runner("kill all");
  ask_runner("restart");
  // Whether the key was away for a moment is the store's business; in the end it is there for good.
  caller_.insist({.puts = {{key("after"), "1", 0}}});
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kPut, key("after")));
  facts.wait_for({{key("after"), "1"}, {key("worker"), "here"}});
  registered.end();
  facts.wait_for({{key("after"), "1"}});
}

// Its leases are over, and so is what the store remembered of its connections.
TEST_F(StoreFaults, a_process_that_was_stopped_catches_up) {
  caller_.put(key("stays"), "1");
  caller_.put(key("leased"), "1", caller_.grant(kLease).value());
  Facts facts(caller_, folder());
  Registered registered(stage_, key("worker"));
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kPut, key("worker")));
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kPut, key("leased")));
  ask_runner("stop us");
  EXPECT_TRUE(facts.wait_for(Fact::Kind::kPut, key("worker"), 2));
  facts.wait_for({{key("stays"), "1"}, {key("worker"), "here"}});
  if (setup().is_zookeeper()) facts.wait_for_current(2);  // with a new session
  caller_.put(key("after"), "1");
  facts.wait_for({{key("after"), "1"}, {key("stays"), "1"}, {key("worker"), "here"}});
  EXPECT_FALSE(facts.wait_for(Fact::Kind::kPut, key("stays"), 2, 0s)) << "told twice";
}

TEST_F(StoreFaults, everything_goes_on_while_one_member_is_dead) {
  if (setup().members < 2) GTEST_SKIP() << "there is only one member";
  Facts facts(caller_, key("watched/"));
  facts.wait_for({});
  Ballots ballots;
  std::unique_ptr<os::Thread> takers = std::make_unique<os::Thread>("takers", [&] {
    all_at_once([&](int i) {
      Caller mine(stage_);
      take_often(mine, key("leader"), text("taker ", i), ballots);
    });
  });
  ask_runner("kill one");
  caller_.insist({.puts = {{key("watched/a"), "1", 0}}});
  facts.wait_for({{key("watched/a"), "1"}});
  EXPECT_EQ(caller_.value(key("watched/a")), "1");
  takers.reset();
  expect_no_gaps(LeaderCalls(caller_, key("leader")), ballots, true);
  ask_runner("restart");
  caller_.insist({.puts = {{key("watched/a"), "2", 0}}});
  facts.wait_for({{key("watched/a"), "2"}});
}

}  // namespace
}  // namespace edl::store
