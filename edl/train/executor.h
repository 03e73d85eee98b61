// Where the trainee's calls run: one after the other, off the loop. In a real worker that is the
// training thread; a virtual one lets time pass instead.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "edl/os/channel.h"
#include "edl/os/system.h"
#include "edl/os/thread.h"

namespace edl::train {

class Executor {
 public:
  virtual ~Executor() = default;
  // `piece` is called until it says that there is no more, after all work before it and with other
  // work in between; then `done` on the loop, unless the executor has ended.
  virtual void run_pieces(std::function<bool()> piece, os::Task done) = 0;
  // Called by work that runs: `news` comes to the loop before the work's `done`.
  virtual void tell(os::Task news) = 0;

  // Work of one piece.
  void run(os::Task work, os::Task done) {
    run_pieces(
        [work = std::move(work)] {
          work();
          return false;
        },
        std::move(done));
  }
};

// What an executor was asked for.
struct Work {
  std::function<bool()> piece;
  os::Task done;
};

// A thread of its own. At most `kQueueMax` works wait.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(os::System& system, const std::string& name = "edl-train");
  ~ThreadExecutor() override;
  void run_pieces(std::function<bool()> piece, os::Task done) override;
  void tell(os::Task news) override;
  // Begins nothing more, and tells nothing more. Whether what runs has ended within that time; what
  // works use must live until it has.
  bool end_within(Duration limit);

 private:
  static constexpr std::size_t kQueueMax = 1024;

  void work_on();

  os::System& system_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // of the loop's thread
  os::Channel<Work> works_{kQueueMax};
  os::Channel<bool> ended_{1};
  os::Thread thread_;  // last: ends before what it uses
};

// On the loop, each piece after a while that `cost` says; what it tells comes as late as `delay`
// says. For worlds without threads.
class TimedExecutor final : public Executor {
 public:
  TimedExecutor(os::System& system, std::function<Duration()> cost, std::function<Duration()> delay)
      : system_(system), cost_(std::move(cost)), delay_(std::move(delay)) {}
  ~TimedExecutor() override { *alive_ = false; }
  void run_pieces(std::function<bool()> piece, os::Task done) override;
  void tell(os::Task news) override;

 private:
  void next();
  void deliver(Duration delay);

  os::System& system_;
  std::function<Duration()> cost_;
  std::function<Duration()> delay_;
  std::deque<Work> waiting_;
  bool busy_ = false;
  os::Pending working_;
  std::deque<os::Task> told_;
  os::Pending delivering_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::train
