// For store_suite: a real loop on a thread of its own, and stores that are asked from the test's
// thread, so that a case reads from top to bottom.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "edl/os/posix/system.h"
#include "edl/os/thread.h"
#include "edl/store/store.h"

namespace edl::store {

// Longer than anything takes on a machine that is busy with other things.
inline constexpr auto kPatience = 60s;

// What the runner said; set once by main.
struct Setup {
  std::string store{};  // "http://127.0.0.1:1,..." or "zk://127.0.0.1:1,..."
  int members = 1;
  bool has_runner = false;  // that kills and restarts servers when asked
  bool is_zookeeper() const { return store.starts_with("zk://"); }
};
Setup& setup();

std::unique_ptr<Store> open_store_under_test(os::System& system);

// Writes the wish to standard output and waits until the runner has fulfilled it:
// "kill one" (the leader, where there is one), "kill all", "restart", "stop us" (this process, for
// longer than leases and sessions last).
void ask_runner(const std::string& wish);

class Stage {
 public:
  Stage();
  ~Stage();

  os::System& system() { return *system_; }
  // Returns when the task has run.
  void on_loop(const os::Task& task);

  template <class T>
  Result<T> answer(const std::function<os::Pending(Done<T>)>& ask) {
    std::promise<Result<T>> promise;
    auto future = promise.get_future();
    os::Pending pending;
    bool inside = true;
    on_loop([&] {
      pending = ask([&](Result<T> result) {
        EXPECT_FALSE(inside) << "called back inside the call";
        promise.set_value(std::move(result));
      });
      inside = false;
    });
    const bool came = future.wait_for(kPatience) == std::future_status::ready;
    on_loop([&] { pending.cancel(); });
    if (!came) return Error{Code::kTimeout, "the store never called back"};
    return future.get();
  }

 private:
  std::unique_ptr<LogSink> sink_;
  std::unique_ptr<os::PosixSystem> system_;
  std::unique_ptr<os::Thread> loop_;
};

// A store of its own: own connections, as another process would have.
class Caller {
 public:
  explicit Caller(Stage& stage);
  ~Caller() { close(); }
  void close();

  Stage& stage() { return stage_; }
  Store& store() { return *store_; }

  Result<std::optional<KeyValue>> find(const std::string& key);
  Result<std::vector<KeyValue>> list(const std::string& prefix);
  Result<Changed> change(const Change& change);
  Result<LeaseId> grant(Duration length);
  Result<Duration> renew(LeaseId lease);
  Result<void> revoke(LeaseId lease);

  // The value, or "(none)"; a failure of the test when it cannot be read.
  std::string value(const std::string& key);
  Revision put(const std::string& key, const std::string& value, LeaseId lease = 0);
  void remove(const std::string& key);
  // Like `put` and `remove`, while servers die: tried until it succeeds.
  void insist(const Change& change);

 private:
  Stage& stage_;
  std::unique_ptr<Store> store_;
};

// Follows a prefix and keeps what it was told. Fails the test when one key's facts come out of
// order.
class Facts {
 public:
  using Picture = std::map<std::string, std::string>;

  Facts(Caller& caller, const std::string& prefix);
  ~Facts() { stop(); }
  void stop();

  // Waits until the picture is so and was called current; a failure of the test when it never is.
  void wait_for(const Picture& picture);
  // Waits until this many kDeleted and kPut have come for the key. False when `limit` passed.
  bool wait_for(Fact::Kind kind, const std::string& key, int times = 1, Duration limit = kPatience);
  // Waits until kCurrent has come so often.
  void wait_for_current(int times);

  std::vector<std::string> told();  // "put /a=1", "deleted /a", "current"
  Picture picture();

 private:
  void on_fact(const Result<Fact>& fact);
  bool wait(const std::function<bool()>& condition, Duration limit);
  int count(Fact::Kind kind, const std::string& key) const;

  Caller& caller_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fact> facts_;
  Picture picture_;
  std::map<std::string, Revision> revisions_;
  os::Pending following_;  // of the loop's thread
};

// Each case has keys of its own: "/suite/RANDOM/NAME-OF-THE-CASE/".
class StoreSuite : public testing::Test {
 protected:
  StoreSuite();
  std::string key(const std::string& name) const { return folder_ + name; }
  const std::string& folder() const { return folder_; }

  Stage stage_;
  Caller caller_{stage_};

 private:
  std::string folder_;
};

}  // namespace edl::store
