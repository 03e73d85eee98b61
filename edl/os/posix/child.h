// Children of the real System, and the process that forks them; for the files of this folder only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "edl/os/posix/descriptor.h"
#include "edl/os/process.h"

namespace edl::os {

// Waits for one process to end, by its pidfd, and reaps it. Shared with the loop's handler: the
// process is reaped even when nobody wants the report any more.
class ExitWatch : public std::enable_shared_from_this<ExitWatch> {
 public:
  // `group` is the number of the process group that ends with it; 0: it ends alone.
  ExitWatch(boost::asio::io_context& loop, Descriptor pidfd, ExitDone exited, int group = 0);

  // For children of this process (or adopted ones) only.
  void start();
  // Another process reaped it.
  void report(Exit exit);
  void forget() { exited_ = nullptr; }
  Result<void> signal(Signal signal);

 private:
  void reap();
  void sweep(Exit exit, int looks_left);

  boost::asio::posix::stream_descriptor pidfd_;
  boost::asio::steady_timer timer_;
  ExitDone exited_;
  const int group_;
  bool over_ = false;
};

class PosixChild final : public Child {
 public:
  PosixChild(int pid, std::shared_ptr<ExitWatch> watch, std::unique_ptr<Stream> stream)
      : pid_(pid), watch_(std::move(watch)), stream_(std::move(stream)) {}
  ~PosixChild() override { watch_->forget(); }

  int pid() const override { return pid_; }
  Result<void> signal(Signal signal) override { return watch_->signal(signal); }
  Stream& stream() override { return *stream_; }

 private:
  int pid_;
  std::shared_ptr<ExitWatch> watch_;
  std::unique_ptr<Stream> stream_;
};

struct Started {
  int pid;
  Descriptor pidfd;
  Descriptor socket;  // our end; the child's is its descriptor kParentDescriptor
};
inline constexpr int kParentDescriptor = 3;

// Forks and executes; `socket_type` is SOCK_STREAM or SOCK_SEQPACKET. Blocks until the child runs
// its program, so that a wrong path is an error here.
Result<Started> start_process(const Spawn& spawn, int socket_type);

// Opens the file that a child's output is appended to; invalid when the path is empty.
Result<Descriptor> open_output(const std::string& path);
Descriptor open_pidfd(int pid);
int signal_number(Signal signal);

std::unique_ptr<ForkServer> posix_fork_server(boost::asio::io_context& loop, Started server,
                                              ExitDone exited);

}  // namespace edl::os
