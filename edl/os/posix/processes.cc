#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "edl/base/text.h"
#include "edl/os/posix/child.h"
#include "edl/os/posix/parts.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

namespace edl::os {
namespace {

namespace asio = boost::asio;

// How long a group may take to die after SIGKILL: one that waits for a broken disk never does.
constexpr std::chrono::milliseconds kLookEvery{5};
constexpr int kLooksMax = 400;

class PosixProcesses final : public Processes {
 public:
  PosixProcesses(asio::io_context& loop, Descriptor parent) : loop_(loop) {
    if (parent.valid()) parent_ = posix_stream(loop, std::move(parent), "the parent process");
  }

  Result<std::unique_ptr<Child>> spawn(const Spawn& spawn, ExitDone exited) override {
    EDL_CHECK(spawn.own_session || !spawn.as_group);
    EDL_TRY(Started started, start_process(spawn, SOCK_STREAM));
    const int group = spawn.as_group ? started.pid : 0;
    auto watch =
        std::make_shared<ExitWatch>(loop_, std::move(started.pidfd), std::move(exited), group);
    watch->start();
    auto stream = posix_stream(loop_, std::move(started.socket), text("process ", started.pid));
    return std::make_unique<PosixChild>(started.pid, std::move(watch), std::move(stream));
  }

  Result<std::unique_ptr<ForkServer>> spawn_fork_server(const Spawn& spawn,
                                                        ExitDone exited) override {
    EDL_TRY(Started started, start_process(spawn, SOCK_SEQPACKET));
    return posix_fork_server(loop_, std::move(started), std::move(exited));
  }

  Stream* parent() override { return parent_.get(); }

  void end_self(const Exit& exit) override {
    if (exit.signal != 0) ::raise(exit.signal);
    ::_exit(exit.code);
  }

 private:
  asio::io_context& loop_;
  std::unique_ptr<Stream> parent_;
};

}  // namespace

int signal_number(Signal signal) {
  switch (signal) {
    case Signal::kTerminate:
      return SIGTERM;
    case Signal::kInterrupt:
      return SIGINT;
    case Signal::kKill:
      return SIGKILL;
    case Signal::kStop:
      return SIGSTOP;
    case Signal::kContinue:
      return SIGCONT;
  }
  return SIGTERM;
}

ExitWatch::ExitWatch(asio::io_context& loop, Descriptor pidfd, ExitDone exited, int group)
    : pidfd_(loop, pidfd.release()), timer_(loop), exited_(std::move(exited)), group_(group) {}

void ExitWatch::start() {
  if (over_) return;
  pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [self = shared_from_this()](const boost::system::error_code& failed) {
                      if (!failed) self->reap();
                    });
}

void ExitWatch::reap() {
  siginfo_t status{};
  const auto pidfd = static_cast<id_t>(pidfd_.native_handle());
  // The first of a group keeps its number until the others got their signal: it is the group's.
  const int how = group_ == 0 ? WEXITED : WEXITED | WNOWAIT;
  if (::waitid(static_cast<idtype_t>(P_PIDFD), pidfd, &status, how) != 0) {
    return report({.code = -1, .signal = 0});  // its parent reaped it and died before it told us
  }
  const bool by_itself = status.si_code == CLD_EXITED;
  const Exit exit{.code = by_itself ? status.si_status : 0,
                  .signal = by_itself ? 0 : status.si_status};
  if (group_ == 0) return report(exit);
  sweep(exit, kLooksMax);
}

// Those that it left behind became ours, if we adopt orphans, else somebody else reaps them. The
// kernel tells nobody when a group is empty, so it is looked at.
void ExitWatch::sweep(Exit exit, int looks_left) {
  const bool is_empty = ::kill(-group_, SIGKILL) != 0;
  siginfo_t status{};
  const auto group = static_cast<id_t>(group_);
  while (::waitid(P_PGID, group, &status, WEXITED | WNOHANG) == 0 && status.si_pid != 0) {
    status.si_pid = 0;
  }
  if (is_empty || ::kill(-group_, 0) != 0 || looks_left == 0) return report(exit);
  timer_.expires_after(kLookEvery);
  timer_.async_wait([self = shared_from_this(), exit, looks_left](const auto& failed) {
    if (!failed) self->sweep(exit, looks_left - 1);
  });
}

void ExitWatch::report(Exit exit) {
  if (over_) return;
  over_ = true;
  boost::system::error_code ignored;
  pidfd_.close(ignored);
  const ExitDone exited = std::move(exited_);
  exited_ = nullptr;
  if (exited) exited(exit);
}

Result<void> ExitWatch::signal(Signal signal) {
  const int number = signal_number(signal);
  if (over_) return Error{Code::kNotFound, text("cannot send ", signal_name(signal), ": it ended")};
  const bool sent = group_ != 0 ? ::kill(-group_, number) == 0
                                : ::syscall(SYS_pidfd_send_signal, pidfd_.native_handle(), number,
                                            nullptr, 0) == 0;
  if (sent) return {};
  return os_error(errno, text("send ", signal_name(signal)));
}

std::unique_ptr<Processes> posix_processes(asio::io_context& loop, Descriptor parent) {
  return std::make_unique<PosixProcesses>(loop, std::move(parent));
}

}  // namespace edl::os
