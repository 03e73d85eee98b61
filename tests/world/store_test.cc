// The store in a virtual cluster, under faults by seed.
#include <gtest/gtest.h>

#include "tests/world/seeds.h"
#include "tests/world/store_world.h"

namespace edl::tests {
namespace {

TEST(StoreWorld, keeps_its_promises_under_any_faults) {
  HitTable table({
      "fault.kill",
      "fault.kill_between_calls",
      "fault.power_cut",
      "fault.power_cut_between_calls",
      "fault.stop",
      "fault.partition",
      "fault.one_way_cut",
      "fault.isolate",
      "fault.slow_link",
      "fault.lossy_link",
      "fault.disk_full",
      "fault.disk_sync_error",
      "fault.disk_lost_write",
      "fault.disk_torn_write",
      "fault.disk_lost_name",
      "fault.net_blocked_packet",
      "store.unknown_outcome",
      "store.unknown_write_happened",
      "store.txn_succeeded",
      "store.txn_failed",
      "store.lease_expired",
      "store.renewal_of_dead_lease",
      "store.refused_not_found",
      "store.refused_exhausted",
      "store.refused_unavailable",
      "store.watch_compacted",
      "store.registered",
      "store.unregistered",
      "store.led",
      "store.server_could_not_start",
  });
  for_each_seed(400, [&](std::uint64_t seed) {
    StoreWorld world({.seed = seed});
    world.run();
    EXPECT_EQ(world.violation(), "");
    EXPECT_GE(world.server_crashes(), 3u);
    EXPECT_GE(world.world().trace().hits().at("fault.partition"), 1u);
    EXPECT_GE(world.journal().operations.size(), 300u);
    table.add(world.world().trace().hits());
  });
  table.judge();
}

}  // namespace
}  // namespace edl::tests
