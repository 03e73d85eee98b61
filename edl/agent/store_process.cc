#include "edl/agent/store_process.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr Duration kPauseMin = 100ms;
constexpr Duration kPauseMax = 2s;
constexpr Duration kCloseLimit = 10s;
constexpr std::size_t kSocketPathMax = 100;  // the kernel allows 107
constexpr std::string_view kHttp = "http://";

}  // namespace

StoreProcess::StoreProcess(os::System& system, StoreProcessOptions options, Callbacks callbacks)
    : system_(system),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      began_(system.now()),
      pause_(kPauseMin) {
  start();
}

Result<std::vector<std::string>> StoreProcess::arguments() {
  const JobPaths& paths = options_.paths;
  std::vector<std::string> argv{options_.program, "store", "serve", "--of-a-job",
                                text("--data=", paths.store())};
  if (paths.store_socket().size() <= kSocketPathMax) {
    argv.push_back(text("--listen=unix:", paths.store_socket()));
    return argv;
  }
  // The path is too long for a socket. Every user of this machine can reach a port, so there is a
  // token, and after a restart it is the same port.
  EDL_TRY(token_, make_secret(system_, paths.token()));
  argv.push_back(text("--token-file=", paths.token()));
  argv.push_back(text("--listen=", url_.empty() ? "127.0.0.1:0" : url_.substr(kHttp.size())));
  return argv;
}

void StoreProcess::start() {
  auto argv = arguments();
  if (!argv.ok()) return callbacks_.on_failed(argv.error());
  os::Spawn spawn;
  spawn.argv = std::move(argv).value();
  spawn.output_path = options_.paths.log("store");
  spawn.own_session = true;
  auto child = system_.processes().spawn(spawn, [this](os::Exit exit) { on_exit(exit); });
  if (!child.ok()) return again();
  child_ = std::move(child).value();
  words_.clear();
  listen();
}

// The first line is its address; after it nothing comes until it ends.
void StoreProcess::listen() {
  child_->stream().read(buffer_, [this](const Result<std::size_t>& got) {
    if (got.ok() && *got > 0) on_words(*got);
  });
}

void StoreProcess::on_words(std::size_t bytes) {
  words_ += text_of(ConstBytes(buffer_).first(bytes));
  const std::size_t end = words_.find('\n');
  if (end == std::string::npos && words_.size() < buffer_.size()) return listen();
  const bool first = url_.empty();
  url_ = words_.substr(0, end);
  pause_ = kPauseMin;
  if (!first) return callbacks_.say("The store is back.");
  callbacks_.on_ready(url_);
}

void StoreProcess::on_exit(os::Exit exit) {
  child_.reset();
  if (closed_) {
    timer_.cancel();
    const auto done = std::exchange(closed_, nullptr);
    return done();
  }
  if (!url_.empty()) {
    callbacks_.say(text("The store ended (", os::exit_text(exit), "); starting it again."));
  }
  again();
}

void StoreProcess::again() {
  if (url_.empty() && system_.now() - began_ > options_.first_limit) {
    const auto lines = last_lines(system_.disk(), options_.paths.log("store"), 1);
    return callbacks_.on_failed(
        {Code::kUnavailable,
         text("cannot start the job's store: ", lines.empty() ? "it says nothing" : lines.back())});
  }
  if (url_.empty() && !std::exchange(said_waiting_, true)) {
    callbacks_.say("Waiting for the store of the run before to end.");
  }
  timer_ = system_.after(pause_, [this] { start(); });
  pause_ = std::min(pause_ * 2, kPauseMax);
}

void StoreProcess::close(std::function<void()> done) {
  timer_.cancel();
  if (!child_) {
    timer_ = system_.after(Duration::zero(), std::move(done));
    return;
  }
  closed_ = std::move(done);
  (void)child_->signal(os::Signal::kTerminate);
  timer_ = system_.after(kCloseLimit, [this] { (void)child_->signal(os::Signal::kKill); });
}

}  // namespace edl::agent
