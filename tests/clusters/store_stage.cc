#include "tests/clusters/store_stage.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "edl/base/text.h"
#include "edl/store/etcd_store.h"
#ifdef EDL_WITH_ZOOKEEPER
#include "edl/store/zookeeper/zookeeper_store.h"
#endif

namespace edl::store {
namespace {

#ifdef EDL_WITH_ZOOKEEPER
constexpr Duration kSessionTimeout = 4s;  // less than store_suite.py stops us for
#endif

}  // namespace

Setup& setup() {
  static Setup setup;
  return setup;
}

std::unique_ptr<Store> open_store_under_test(os::System& system) {
#ifdef EDL_WITH_ZOOKEEPER
  if (setup().is_zookeeper()) {
    auto options = zookeeper::parse_options(setup().store).value();
    options.session_timeout = kSessionTimeout;
    return std::make_unique<zookeeper::ZooKeeperStore>(system, options);
  }
#endif
  return std::make_unique<EtcdStore>(
      system, ClientOptions{.endpoints = parse_endpoints(setup().store).value()});
}

void ask_runner(const std::string& wish) {
  std::printf("ask: %s\n", wish.c_str());
  std::fflush(stdout);
  std::string line;
  ASSERT_TRUE(std::getline(std::cin, line)) << "the runner is gone";
  ASSERT_EQ(line, "done") << wish;
}

Stage::Stage() : sink_(silent_log_sink()), system_(os::posix_system({.log_sink = sink_.get()})) {
  loop_ = std::make_unique<os::Thread>("loop", [this] { system_->run(); });
}

Stage::~Stage() {
  system_->post([this] { system_->finish(0); });
  loop_.reset();
}

void Stage::on_loop(const os::Task& task) {
  std::promise<void> promise;
  system_->post([&] {
    task();
    promise.set_value();
  });
  promise.get_future().wait();
}

Caller::Caller(Stage& stage) : stage_(stage) {
  stage_.on_loop([this] { store_ = open_store_under_test(stage_.system()); });
}

void Caller::close() {
  stage_.on_loop([this] { store_.reset(); });
}

Result<std::optional<KeyValue>> Caller::find(const std::string& key) {
  return stage_.answer<std::optional<KeyValue>>(
      [&](auto done) { return store_->find(key, std::move(done)); });
}

Result<std::vector<KeyValue>> Caller::list(const std::string& prefix) {
  return stage_.answer<std::vector<KeyValue>>(
      [&](auto done) { return store_->list(prefix, std::move(done)); });
}

Result<Changed> Caller::change(const Change& change) {
  return stage_.answer<Changed>([&](auto done) { return store_->change(change, std::move(done)); });
}

Result<LeaseId> Caller::grant(Duration length) {
  return stage_.answer<LeaseId>([&](auto done) { return store_->grant(length, std::move(done)); });
}

Result<Duration> Caller::renew(LeaseId lease) {
  return stage_.answer<Duration>([&](auto done) { return store_->renew(lease, std::move(done)); });
}

Result<void> Caller::revoke(LeaseId lease) {
  return stage_.answer<void>([&](auto done) { return store_->revoke(lease, std::move(done)); });
}

std::string Caller::value(const std::string& key) {
  const auto found = find(key);
  if (!found.ok()) {
    ADD_FAILURE() << key << ": " << found.error().message;
    return "(unknown)";
  }
  return *found ? (*found)->value : "(none)";
}

Revision Caller::put(const std::string& key, const std::string& value, LeaseId lease) {
  const auto changed = change({.puts = {{key, value, lease}}});
  EXPECT_TRUE(changed.ok()) << key << ": " << changed.error().message;
  if (!changed.ok()) return 0;
  EXPECT_TRUE(changed->happened);
  return changed->revision;
}

void Caller::remove(const std::string& key) {
  const auto changed = change({.deletes = {key}});
  ASSERT_TRUE(changed.ok()) << key << ": " << changed.error().message;
  EXPECT_TRUE(changed->happened);
}

void Caller::insist(const Change& wanted) {
  const Time end = stage_.system().now() + kPatience;
  for (;;) {
    const auto changed = change(wanted);
    if (changed.ok()) {
      EXPECT_TRUE(changed->happened);
      return;
    }
    const Code code = changed.error().code;
    ASSERT_TRUE(code == Code::kUnavailable || code == Code::kTimeout) << changed.error().message;
    ASSERT_LT(stage_.system().now(), end) << changed.error().message;
  }
}

Facts::Facts(Caller& caller, const std::string& prefix) : caller_(caller) {
  caller_.stage().on_loop([&] {
    following_ =
        caller_.store().follow(prefix, [this](const Result<Fact>& fact) { on_fact(fact); });
    EXPECT_TRUE(facts_.empty()) << "called back inside the call";
  });
}

void Facts::stop() {
  caller_.stage().on_loop([this] { following_.cancel(); });
}

void Facts::on_fact(const Result<Fact>& fact) {
  const std::lock_guard lock(mutex_);
  if (!fact.ok()) {
    ADD_FAILURE() << "the follow ended: " << fact.error().message;
    return;
  }
  const KeyValue& kv = fact->kv;
  if (fact->kind != Fact::Kind::kCurrent) {
    Revision& last = revisions_[kv.key];
    // A delete that was not seen happening has any revision from then on.
    EXPECT_GT(kv.mod_revision, last) << kv.key << " was told out of order";
    last = kv.mod_revision;
  }
  if (fact->kind == Fact::Kind::kPut) picture_[kv.key] = kv.value;
  if (fact->kind == Fact::Kind::kDeleted) {
    EXPECT_EQ(picture_.erase(kv.key), 1u) << kv.key << " was never there";
  }
  facts_.push_back(*fact);
  changed_.notify_all();
}

bool Facts::wait(const std::function<bool()>& condition, Duration limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, condition);
}

int Facts::count(Fact::Kind kind, const std::string& key) const {
  return static_cast<int>(std::ranges::count_if(
      facts_, [&](const Fact& fact) { return fact.kind == kind && fact.kv.key == key; }));
}

void Facts::wait_for(const Picture& wanted) {
  const auto so = [&] { return picture_ == wanted && count(Fact::Kind::kCurrent, "") > 0; };
  if (wait(so, kPatience)) return;
  EXPECT_EQ(picture(), wanted);
  EXPECT_TRUE(wait(so, 0s)) << "the picture was never called current";
}

bool Facts::wait_for(Fact::Kind kind, const std::string& key, int times, Duration limit) {
  return wait([&] { return count(kind, key) >= times; }, limit);
}

void Facts::wait_for_current(int times) {
  EXPECT_TRUE(wait([&] { return count(Fact::Kind::kCurrent, "") >= times; }, kPatience));
}

std::vector<std::string> Facts::told() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const Fact& fact : facts_) {
    switch (fact.kind) {
      case Fact::Kind::kPut:
        lines.push_back(text("put ", fact.kv.key, "=", fact.kv.value));
        break;
      case Fact::Kind::kDeleted:
        lines.push_back("deleted " + fact.kv.key);
        break;
      case Fact::Kind::kCurrent:
        lines.emplace_back("current");
        break;
    }
  }
  return lines;
}

Facts::Picture Facts::picture() {
  const std::lock_guard lock(mutex_);
  return picture_;
}

StoreSuite::StoreSuite() {
  std::array<std::byte, 4> chance{};
  stage_.system().fill_random(chance);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  folder_ = text("/suite/", hex(chance), "/", test->name(), "/");
}

}  // namespace edl::store
