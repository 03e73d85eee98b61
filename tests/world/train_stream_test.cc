// Streams in virtual clusters: records come while workers die and the store is away, and each is
// trained once.
#include <gtest/gtest.h>

#include "tests/world/seeds.h"
#include "tests/world/train_world.h"

namespace edl::tests {
namespace {

TEST(TrainStream, is_trained_to_its_end_without_faults) {
  TrainWorld world({.seed = 3, .faults = 0, .job = {.samples = 900}, .is_stream = true});
  world.run();
  EXPECT_EQ(world.violation(), "");
  // Between the halves nothing came for three seconds, and nothing was trained.
  EXPECT_GE(world.world().now().time_since_epoch(), ToySource::kGapTo);
}

TrainWorldOptions options_of(std::uint64_t seed) {
  Random random(seed);
  TrainWorldOptions options{.seed = seed};
  options.is_stream = true;
  options.nodes = static_cast<int>(random.between(3, 6));
  options.job.seed = seed;
  options.job.logical_workers = static_cast<std::uint32_t>(random.between(options.nodes, 8));
  options.max = static_cast<std::uint32_t>(options.nodes);
  options.wanted = static_cast<std::uint32_t>(random.between(2, options.max));
  options.job.samples = static_cast<std::uint64_t>(random.between(300, 1500));
  options.job.batch = static_cast<std::uint64_t>(random.between(8, 24));
  options.faults = static_cast<int>(random.between(5, 12));
  options.policy = static_cast<model::BatchPolicy>(random.below(3));
  options.faulty = 7s;
  if (random.once_in(2)) {
    options.hunt = "idle";
    options.hunt_after = random.between(Duration::zero(), Duration(6s));
  }
  return options;
}

TEST(TrainStream, each_record_has_one_number_and_is_trained_once_under_any_faults) {
  HitTable table({"fault.kill", "fault.power_cut", "fault.stop", "fault.partition", "view.death",
                  "view.join", "view.resume", "leader_lost.idle", "person.scales", "stream.entry"});
  for_each_seed(60, [&](std::uint64_t seed) {
    TrainWorld world(options_of(seed));
    world.run();
    EXPECT_EQ(world.violation(), "");
    table.add(world.world().trace().hits());
  });
  table.judge();
}

}  // namespace
}  // namespace edl::tests
