// For tests: what a child process does, by its first argument.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "edl/os/system.h"

namespace edl::os {

//   exit CODE    ends at once
//   hang         waits until it is killed
//   terminate    ends with 7 on a polite request
//   echo         sends back what its parent sends, until the parent closes; then ends with 3
//   nest PATH    starts PATH as a child that hangs and dies with it, tells its pid, and hangs too
//   leave PATH   starts PATH as a child that hangs, tells its pid, and ends once its parent answers
class TestChild final : public Program {
 public:
  TestChild(System& system, std::vector<std::string> arguments)
      : system_(system), arguments_(std::move(arguments)) {
    const std::string mode = arguments_.empty() ? "" : arguments_[0];
    if (mode == "exit") system_.finish(std::atoi(arguments_[1].c_str()));
    if (mode == "terminate") {
      system_.on_signal(Signal::kTerminate, [this] { system_.finish(7); });
      say("ready");
    }
    if (mode == "echo") echo();
    if (mode == "nest") nest(arguments_[1], true);
    if (mode == "leave") {
      nest(arguments_[1], false);
      system_.processes().parent()->read(buffer_, [this](auto) { system_.finish(0); });
    }
  }

 private:
  void say(std::string_view words) {
    const ConstBytes piece = bytes_of(words);
    system_.processes().parent()->write(std::span(&piece, 1), [](auto) {});
  }

  void echo() {
    Stream& parent = *system_.processes().parent();
    parent.read(buffer_, [this, &parent](Result<std::size_t> got) {
      if (!got.ok() || *got == 0) return system_.finish(3);
      const ConstBytes piece = ConstBytes(buffer_).first(*got);
      parent.write(std::span(&piece, 1), [this](auto) { echo(); });
    });
  }

  void nest(const std::string& program, bool dies_with_parent) {
    Spawn spawn;
    spawn.argv = {program, "hang"};
    spawn.dies_with_parent = dies_with_parent;
    inner_ = system_.processes().spawn(spawn, [](Exit) {}).value();
    said_ = std::to_string(inner_->pid());
    say(said_);
  }

  System& system_;
  std::vector<std::string> arguments_;
  std::unique_ptr<Child> inner_;
  std::string said_;
  Bytes buffer_ = Bytes(1000);
};

}  // namespace edl::os
