// For tests: the same scene played on a real machine and in a virtual world.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "edl/os/child_test.h"
#include "edl/os/posix/system.h"
#include "edl/os/system.h"
#include "edl/os/virtual/world.h"

namespace edl::os {

// Makes the objects of a scene; they end with it. The scene calls `System::finish`.
using Scene = std::function<std::unique_ptr<Program>(System&)>;

class Stage {
 public:
  virtual ~Stage() = default;
  // False when the scene did not finish within its (generous) limit.
  [[nodiscard]] virtual bool play(const Scene& scene) = 0;
  // A folder that exists and is empty, and the program of child_test.h.
  virtual std::string folder() const = 0;
  virtual std::string child_program() const = 0;
};

class PosixStage final : public Stage {
 public:
  PosixStage() : sink_(silent_log_sink()) {
    char name[] = "/tmp/edl-os-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~PosixStage() override {
    const std::string command = "rm -rf '" + folder_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  bool play(const Scene& scene) override {
    const auto system = posix_system({.log_sink = sink_.get(), .adopts_orphans = true});
    const Pending limit = system->after(60s, [&] { system->finish(99); });
    const auto program = scene(*system);
    return system->run() == 0;
  }
  std::string folder() const override { return folder_; }
  std::string child_program() const override { return EDL_OS_CHILD; }

 private:
  std::unique_ptr<LogSink> sink_;
  std::string folder_;
};

class VirtualStage final : public Stage {
 public:
  bool play(const Scene& scene) override {
    VirtualWorld world({.seed = 5});
    world.install("scene", [&](System& system, const Arguments&) {
      EXPECT_TRUE(system.disk().make_directory(folder()).ok());
      return scene(system);
    });
    world.install("child", [](System& system, const Arguments& argv) {
      return std::make_unique<TestChild>(system, Arguments(argv.begin() + 1, argv.end()));
    });
    const int pid = world.start(world.add_node("a"), {"scene"});
    return world.run_until([&] { return !world.is_alive(pid); }, 60s);
  }
  std::string folder() const override { return "/data"; }
  std::string child_program() const override { return "child"; }
};

// TEST_P with this fixture runs on both stages.
class OnBothStages : public testing::TestWithParam<const char*> {
 protected:
  OnBothStages() {
    if (GetParam() == std::string("posix")) {
      stage_ = std::make_unique<PosixStage>();
    } else {
      stage_ = std::make_unique<VirtualStage>();
    }
  }
  template <class T>
  void play() {
    EXPECT_TRUE(
        stage_->play([this](System& system) { return std::make_unique<T>(system, *stage_); }));
  }
  std::unique_ptr<Stage> stage_;
};

#define EDL_ON_BOTH_STAGES(suite)                                            \
  using suite = OnBothStages;                                                \
  INSTANTIATE_TEST_SUITE_P(both, suite, testing::Values("posix", "virtual"), \
                           [](const auto& which) { return std::string(which.param); })

}  // namespace edl::os
