#include "edl/agent/worker_guard.h"

#include <chrono>

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr Duration kPause = 200ms;
constexpr Duration kPatience = 1s;  // before it is worth a sentence that the lock is held

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

WorkerGuard::WorkerGuard(os::System& system, WorkerGuardOptions options, Callbacks callbacks)
    : system_(system), options_(std::move(options)), callbacks_(std::move(callbacks)) {
  start();
}

void WorkerGuard::start() {
  os::Spawn spawn;
  spawn.argv = {options_.program, "guard", text("--grace=", milliseconds(options_.grace), "ms")};
  if (!options_.lock.empty()) spawn.argv.push_back(text("--lock=", options_.lock));
  spawn.output_path = options_.log;
  spawn.own_session = true;
  auto child = system_.processes().spawn(spawn, [this](os::Exit) { on_exit(); });
  if (!child.ok()) {
    timer_ = system_.after(kPause, [this] { start(); });
    return;
  }
  child_ = std::move(child).value();
  waiting_.clear();
  writing_ = false;
  for (const int group : groups_) send(text("+", group, "\n"));
  listen();
  timer_ = system_.after(kPatience, [this] {
    if (!std::exchange(said_waiting_, true)) {
      callbacks_.say("Waiting for the workers of the run before to end.");
    }
  });
}

// It says one line, once it holds the lock.
void WorkerGuard::listen() {
  child_->stream().read(buffer_, [this](const Result<std::size_t>& got) {
    if (!got.ok() || *got == 0) return;
    timer_.cancel();
    ready_ = true;
    callbacks_.on_ready();
  });
}

// Who killed it did not mean the workers: they stay, and the next one guards them.
void WorkerGuard::on_exit() {
  child_.reset();
  timer_ = system_.after(kPause, [this] { start(); });
}

void WorkerGuard::add(int group) {
  groups_.insert(group);
  send(text("+", group, "\n"));
}

void WorkerGuard::remove(int group) {
  groups_.erase(group);
  send(text("-", group, "\n"));
}

void WorkerGuard::send(const std::string& line) {
  if (!child_) return;
  waiting_ += line;
  if (!writing_) write();
}

void WorkerGuard::write() {
  writing_ = true;
  written_ = std::exchange(waiting_, "");
  const ConstBytes piece = bytes_of(written_);
  child_->stream().write(std::span(&piece, 1), [this](const Result<void>& done) {
    writing_ = false;
    if (done.ok() && !waiting_.empty()) write();
  });
}

}  // namespace edl::agent
