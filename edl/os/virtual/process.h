// One process of a virtual world: what it may still be told. Its program and system belong to it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/os/process.h"
#include "edl/os/system.h"
#include "edl/os/virtual/events.h"

namespace edl::os {

class VirtualProcess : public std::enable_shared_from_this<VirtualProcess> {
 public:
  VirtualProcess(EventQueue& events, int number, int on_node, std::vector<std::string> words)
      : pid(number), node(on_node), argv(std::move(words)), events_(events) {}

  bool alive() const { return state_ != State::kDead; }
  // False also between the instant that dooms it and its end: what it still tries has no effect.
  bool running() const { return state_ == State::kRunning; }
  bool paused() const { return paused_; }

  // Runs the task now; later when the process is stopped; never when it has ended.
  void deliver(Task task) {
    if (state_ != State::kRunning) return;
    if (paused_) {
      waiting_.push_back(std::move(task));
    } else {
      task();
    }
  }
  // Like `deliver`, at a later time.
  void deliver_after(Duration delay, Task task) {
    events_.after(delay, [self = shared_from_this(), task = std::move(task)]() mutable {
      self->deliver(std::move(task));
    });
  }

  void pause() { paused_ = true; }
  void resume() {
    paused_ = false;
    // Each as an event of its own: a task may stop the process again.
    while (!waiting_.empty()) {
      deliver_after(Duration::zero(), std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }

  // It asked to end, or is doomed to; nothing of it runs or has an effect any more.
  void finish() { state_ = State::kFinishing; }
  // Its objects go away without being able to do anything.
  void die() {
    state_ = State::kDead;
    waiting_.clear();
    program.reset();
    system.reset();
  }

  const int pid;
  const int node;
  const std::vector<std::string> argv;
  std::unique_ptr<System> system;
  std::unique_ptr<Program> program;
  std::map<Signal, Task> on_signal;
  std::weak_ptr<VirtualProcess> parent;
  bool dies_with_parent = false;
  bool in_group = false;  // and so are its children, who die with it
  Task on_death;          // tells the parent or restarts it; runs in the world, not in this process
  Exit exit;

 private:
  enum class State { kRunning, kFinishing, kDead };

  EventQueue& events_;
  State state_ = State::kRunning;
  bool paused_ = false;
  std::deque<Task> waiting_;
};

using ProcessPtr = std::shared_ptr<VirtualProcess>;

}  // namespace edl::os
