#include "edl/agent/memory_limit.h"

#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"

namespace edl::agent {
namespace {

constexpr const char* kMeminfo = "MemTotal:  2048 kB\nMemFree: 3 kB\nMemAvailable:    1024 kB\n";

TEST(MemoryLimit, of_the_machine_is_what_it_calls_available) {
  EXPECT_EQ(memory_in(kMeminfo), 1024u * 1024);
  EXPECT_FALSE(memory_in("MemFree: 3 kB\n").has_value());
}

TEST(MemoryLimit, of_a_group_is_what_it_leaves_without_idle_files) {
  EXPECT_EQ(memory_left({"1000\n", "600\n", "anon 1\ninactive_file 250\n"}), 650u);
  EXPECT_EQ(memory_left({"1000", "600", "inactive_file 9\ntotal_inactive_file 100\n"}), 500u);
  EXPECT_EQ(memory_left({"1000", "4000", ""}), 0u);
  EXPECT_EQ(memory_left({"1000", "50", "inactive_file 90"}), 1000u);
}

TEST(MemoryLimit, a_group_without_a_limit_leaves_all) {
  EXPECT_FALSE(memory_left({"max\n", "600\n", ""}).has_value());
  EXPECT_FALSE(memory_left({"9223372036854771712\n", "600\n", ""}).has_value());
  EXPECT_FALSE(memory_left({"", "", ""}).has_value());
}

// Both versions of groups, with files where the kernel has them.
TEST(MemoryLimit, the_narrowest_counts) {
  struct Case {
    std::string groups;
    std::string path;
    std::string limit;
    std::uint64_t available;
  };
  const std::string v2 = "/sys/fs/cgroup/a/memory.max";
  const std::string v1 = "/sys/fs/cgroup/memory/b/memory.limit_in_bytes";
  for (const Case& one :
       {Case{"0::/a\n", v2, "4096\n", 4096}, Case{"0::/a\n", v2, "max\n", 1 << 20},
        Case{"4:memory:/b\n0::/\n", v1, "8192\n", 8192},
        Case{"0::/a\n", v2, "9999999\n", 1 << 20}}) {
    os::VirtualWorld world({.seed = 1, .quiet = true});
    std::uint64_t available = 0;
    world.install("test", [&](os::System& system, const os::Arguments&) {
      os::Disk& disk = system.disk();
      const auto put = [&](const std::string& path, const std::string& words) {
        ASSERT_TRUE(disk.make_directory(os::parent_directory(path)).ok());
        ASSERT_TRUE(os::replace_file(disk, path, bytes_of(words)).ok());
      };
      put("/proc/meminfo", kMeminfo);
      put("/proc/self/cgroup", one.groups);
      put(one.path, one.limit);
      available = available_memory(disk);
      system.finish(0);
      return std::make_unique<os::Program>();
    });
    world.start(world.add_node("a"), {"test"});
    world.run_for(1s);
    EXPECT_EQ(available, one.available) << one.groups << one.limit;
  }
}

}  // namespace
}  // namespace edl::agent
