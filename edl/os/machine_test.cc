#include "edl/os/posix/machine.h"

#include <gtest/gtest.h>

#include "edl/os/cpu.h"
#include "edl/os/libraries.h"
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

// The kernel reads the same facts from the processor.
TEST(Machine, knows_its_instructions) {
  const auto sink = silent_log_sink();
  const auto system = posix_system({.log_sink = sink.get()});
  const auto file = system->disk().open("/proc/cpuinfo", Open::kRead).value();
  Bytes bytes(16 * 1024);
  const std::string lines(text_of(ConstBytes(bytes).first(file->read_at(0, bytes).value())));
  EXPECT_EQ(cpu_features().avx2, lines.find(" avx2 ") != std::string::npos);
  EXPECT_EQ(cpu_features().avx512, lines.find(" avx512vl ") != std::string::npos);
}

TEST(Machine, knows_which_library_a_function_is_from) {
  // A sanitizer has its own version of many others.
  EXPECT_NE(library_with("gnu_get_libc_version").find("/libc.so"), std::string::npos);
  EXPECT_EQ(library_with("no_such_function"), "");
  EXPECT_EQ(loaded_function("no_such_function"), nullptr);
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

TEST(Machine, knows_whether_a_group_still_runs_and_reaches_all_of_it) {
  const auto sink = silent_log_sink();
  const auto system = posix_system({.log_sink = sink.get()});
  Spawn spawn;
  // One process: of two, the second may still be dying when the exit of the first is told.
  spawn.argv = {"/bin/sh", "-c", "exec cat <&3"};
  spawn.own_session = true;
  const auto child = system->processes().spawn(spawn, [&](Exit) { system->finish(0); }).value();
  EXPECT_TRUE(has_group(child->pid()));
  EXPECT_TRUE(signal_group(child->pid(), Signal::kKill).ok());
  system->run();
  EXPECT_FALSE(has_group(child->pid()));
  EXPECT_EQ(signal_group(child->pid(), Signal::kKill).error().code, Code::kNotFound);
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
