// The lock in a virtual cluster, under faults by seed.
#include <gtest/gtest.h>

#include "examples/lock/world.h"
#include "tests/world/seeds.h"

namespace edl::lock {
namespace {

TEST(LockWorld, keeps_its_promises_under_any_faults) {
  tests::HitTable table({
      "fault.kill",
      "fault.kill_between_calls",
      "fault.power_cut",
      "fault.power_cut_between_calls",
      "fault.stop",
      "fault.continue",
      "fault.partition",
      "fault.one_way_cut",
      "fault.isolate",
      "fault.slow_link",
      "fault.lossy_link",
      "fault.clock_jump",
      "fault.disk_full",
      "fault.disk_sync_error",
      "fault.disk_lost_write",
      "fault.disk_lost_name",
      "fault.net_loss",
      "fault.net_delay",
      "fault.net_slow",
      "fault.net_reorder",
      "fault.net_blocked_packet",
      "net.reset",
      "net.short_read",
      "lock.granted",
      "lock.renewed",
      "lock.wait",
      "lock.turn",
      "lock.released",
      "lock.renewal_refused",
      "lock.waits_after_start",
      "lock.lost_by_time",
      "lock.server_could_not_start",
  });
  tests::for_each_seed(500, [&](std::uint64_t seed) {
    LockWorld world({.seed = seed});
    world.run();
    EXPECT_EQ(world.violation(), "");
    EXPECT_GE(world.crashes(), 3u);
    EXPECT_GE(world.world().trace().hits().at("fault.partition"), 1u);
    table.add(world.world().trace().hits());
  });
  table.judge();
}

}  // namespace
}  // namespace edl::lock
