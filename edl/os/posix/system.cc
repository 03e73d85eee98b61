#include "edl/os/posix/system.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "edl/os/posix/memory.h"
#include "edl/os/posix/parts.h"

namespace edl::os {
namespace {

namespace asio = boost::asio;
using SystemCode = boost::system::error_code;

class TimerOperation final : public Pending::Operation {
 public:
  TimerOperation(asio::io_context& loop, Duration delay, Task task)
      : state_(std::make_shared<State>(loop)) {
    state_->task = std::move(task);
    const auto run = [state = state_](SystemCode) {
      if (!state->task) return;  // cancelled
      const Task due = std::move(state->task);
      due();
    };
    // Without a delay: behind what is ready, and without a word to the kernel's timer.
    if (delay <= Duration::zero()) {
      asio::post(loop, [run] { run({}); });
    } else {
      state_->timer.expires_after(delay);
      state_->timer.async_wait(run);
    }
  }
  ~TimerOperation() override {
    state_->task = nullptr;
    state_->timer.cancel();
  }

 private:
  struct State {
    explicit State(asio::io_context& loop) : timer(loop) {}
    asio::steady_timer timer;
    Task task;
  };
  std::shared_ptr<State> state_;
};

class AsioSystem final : public PosixSystem {
 public:
  explicit AsioSystem(const PosixOptions& options)
      : log_(*options.log_sink, options.name),
        work_(asio::make_work_guard(loop_)),
        disk_(posix_disk()),
        network_(posix_network(loop_)),
        processes_(posix_processes(loop_, Descriptor(options.parent_descriptor))) {
    if (options.private_files) ::umask(S_IRWXG | S_IRWXO);
    if (options.adopts_orphans) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  int run() override {
    loop_.run();
    loop_.restart();
    return exit_code_;
  }

  Time now() const override { return Time(std::chrono::steady_clock::now().time_since_epoch()); }
  WallTime wall_time() const override { return std::chrono::system_clock::now(); }
  Pending after(Duration delay, Task task) override {
    return Pending(std::make_unique<TimerOperation>(loop_, delay, std::move(task)));
  }
  void post(Task task) override { asio::post(loop_, std::move(task)); }

  void fill_random(ByteSpan into) override {
    while (!into.empty()) {
      const ssize_t got = ::getrandom(into.data(), into.size(), 0);
      EDL_CHECK(got > 0 || errno == EINTR, "the kernel gave no random bytes");
      if (got > 0) into = into.subspan(static_cast<std::size_t>(got));
    }
  }

  void on_signal(Signal signal, Task task) override {
    EDL_CHECK(signal == Signal::kTerminate || signal == Signal::kInterrupt);
    const int number = signal == Signal::kTerminate ? SIGTERM : SIGINT;
    auto& set = signals_.emplace_back(std::make_unique<asio::signal_set>(loop_, number));
    wait_for(*set, std::make_shared<Task>(std::move(task)));
  }

  void finish(int exit_code) override {
    exit_code_ = exit_code;
    loop_.stop();
  }

  Network& network() override { return *network_; }
  Disk& disk() override { return *disk_; }
  Processes& processes() override { return *processes_; }
  Result<std::unique_ptr<Memory>> make_memory(std::size_t bytes) override {
    EDL_TRY(auto memory, PosixMemory::make(bytes));
    return std::unique_ptr<Memory>(std::move(memory));
  }
  Result<std::unique_ptr<Memory>> find_memory(const std::string& place) override {
    EDL_TRY(auto memory, PosixMemory::found(place));
    return std::unique_ptr<Memory>(std::move(memory));
  }
  const Log& log() override { return log_; }

 private:
  static void wait_for(asio::signal_set& set, const std::shared_ptr<Task>& task) {
    set.async_wait([&set, task](SystemCode failed, int) {
      if (failed) return;
      wait_for(set, task);
      (*task)();
    });
  }

  Log log_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::unique_ptr<asio::signal_set>> signals_;
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Processes> processes_;
  int exit_code_ = 0;
};

}  // namespace

std::unique_ptr<PosixSystem> posix_system(const PosixOptions& options) {
  EDL_CHECK(options.log_sink != nullptr);
  return std::make_unique<AsioSystem>(options);
}

}  // namespace edl::os
