#include "edl/agent/oom_counter.h"

#include <gtest/gtest.h>

#include "edl/agent/kernel_file.h"

namespace edl::agent {
namespace {

TEST(OomCounter, finds_the_count_among_the_kernels_lines) {
  EXPECT_EQ(oom_kills_in("low 0\nhigh 0\noom 7\noom_kill 3\noom_group_kill 9\n"), 3u);
  EXPECT_EQ(oom_kills_in("oom_kill_disable 1\nunder_oom 0\noom_kill 12\n"), 12u);
  EXPECT_EQ(oom_kills_in(""), 0u);
  EXPECT_EQ(oom_kills_in("oom_kill many"), 0u);
}

TEST(KernelFile, is_looked_for_in_both_kinds_of_cgroup) {
  constexpr CgroupFile kKills{"memory.events", "memory.oom_control"};
  EXPECT_EQ(cgroup_paths("4:memory:/jobs/a\n0::/\n", kKills),
            (std::vector<std::string>{"/sys/fs/cgroup/memory/jobs/a/memory.oom_control",
                                      "/sys/fs/cgroup/memory/memory.oom_control",
                                      "/sys/fs/cgroup/memory.events"}));
  EXPECT_TRUE(cgroup_paths("nonsense", kKills).empty());
}

}  // namespace
}  // namespace edl::agent
