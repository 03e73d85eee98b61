#include "edl/os/posix/machine.h"

#include <gtest/gtest.h>

#include "edl/os/posix/system.h"

namespace edl::os {
namespace {

TEST(Machine, knows_itself) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.host.empty());
  EXPECT_GE(machine.cores, 1u);
  EXPECT_TRUE(machine.program.ends_with("os_test")) << machine.program;
  EXPECT_GT(machine.pid, 1);
}

TEST(Machine, signals_only_what_the_named_process_started) {
  const auto sink = silent_log_sink();
  const auto system = posix_system({.log_sink = sink.get()});
  Exit ended;
  Spawn spawn;
  spawn.argv = {"/bin/sh", "-c", "cat <&3"};
  const auto child = system->processes()
                         .spawn(spawn,
                                [&](Exit exit) {
                                  ended = exit;
                                  system->finish(0);
                                })
                         .value();
  const int pid = child->pid();
  EXPECT_EQ(signal_descendant(pid, pid, Signal::kKill).error().code, Code::kNotFound);
  EXPECT_EQ(signal_descendant(1, this_machine().pid, Signal::kKill).error().code, Code::kNotFound);
  EXPECT_TRUE(signal_descendant(pid, this_machine().pid, Signal::kKill).ok());
  system->run();
  EXPECT_EQ(ended.signal, 9);
}

TEST(Machine, a_private_file_is_read_by_its_owner_only) {
  const auto sink = silent_log_sink();
  const auto system = posix_system({.log_sink = sink.get()});
  Disk& disk = system->disk();
  const std::string path = text(::testing::TempDir(), "/private-", this_machine().pid);
  EXPECT_TRUE(disk.open(path, Open::kCreatePrivate).ok());
  EXPECT_TRUE(disk.is_private(path).value());
  EXPECT_EQ(disk.open(path, Open::kCreatePrivate).error().code, Code::kConflict);
  EXPECT_TRUE(disk.remove(path).ok());
}

}  // namespace
}  // namespace edl::os
