#include "edl/model/position.h"

#include <gtest/gtest.h>

namespace edl::model {
namespace {

TEST(Position, a_step_never_crosses_an_epoch) {
  const StepPlan last = next_step({Epoch(2), 96, Step(40)}, 100, 16);
  EXPECT_EQ(last.step, Step(41));
  EXPECT_EQ(last.positions, (PositionRange{96, 100}));
  EXPECT_TRUE(last.ends_epoch);
  EXPECT_EQ(last.after(), (Position{Epoch(3), 0, Step(41)}));
}

TEST(Position, a_step_within_an_epoch_takes_the_whole_batch) {
  const StepPlan plan = next_step({Epoch(0), 0, Step(0)}, 100, 16);
  EXPECT_EQ(plan.step, Step(1));
  EXPECT_EQ(plan.positions, (PositionRange{0, 16}));
  EXPECT_EQ(plan.after(), (Position{Epoch(0), 16, Step(1)}));
}

TEST(Position, an_epoch_that_fits_exactly_ends_with_a_full_step) {
  const StepPlan plan = next_step({Epoch(0), 84, Step(5)}, 100, 16);
  EXPECT_TRUE(plan.ends_epoch);
  EXPECT_EQ(plan.positions.size(), 16u);
  EXPECT_EQ(plan.after().epoch, Epoch(1));
}

// Every position of every epoch once, whatever the batch, and also when it changes on the way.
TEST(Position, steps_take_every_position_once) {
  for (std::uint64_t samples = 1; samples <= 40; ++samples) {
    Position here;
    std::uint64_t taken = 0;
    for (std::uint64_t batch = 1; here.epoch < Epoch(3); batch = batch % 13 + 1) {
      const StepPlan plan = next_step(here, samples, batch);
      EXPECT_EQ(plan.positions.from, taken % samples);
      taken += plan.positions.size();
      EXPECT_EQ(plan.step, here.step.next());
      here = plan.after();
    }
    EXPECT_EQ(taken, 3 * samples);
  }
}

TEST(Position, parts_are_consecutive_and_the_last_may_be_empty) {
  const StepPlan plan = next_step({Epoch(0), 96, Step(6)}, 99, 16);
  EXPECT_EQ(plan.part(LogicalWorker(0), 4), (PositionRange{96, 97}));
  EXPECT_EQ(plan.part(LogicalWorker(2), 4), (PositionRange{98, 99}));
  EXPECT_EQ(plan.part(LogicalWorker(3), 4).size(), 0u);
}

TEST(Position, the_largest_data_set_does_not_overflow) {
  const std::uint64_t samples = std::uint64_t{1} << 63;
  const StepPlan plan = next_step({Epoch(0), samples - 1, Step(1)}, samples, ~std::uint64_t{0});
  EXPECT_EQ(plan.positions, (PositionRange{samples - 1, samples}));
}

// Whoever plans it plans the same, however much more is known by then.
TEST(Position, a_step_of_a_stream_is_planned_once_it_is_known_whether_another_follows) {
  const Position here{Epoch(0), 16, Step(2)};
  EXPECT_FALSE(next_step(here, StreamExtent{16, false}, 8).has_value());
  EXPECT_FALSE(next_step(here, StreamExtent{24, false}, 8).has_value());
  for (const StreamExtent& extent : {StreamExtent{25, false}, {25, true}, {1000, false}}) {
    const StepPlan plan = next_step(here, extent, 8).value();
    EXPECT_EQ(plan.positions, (PositionRange{16, 24}));
    EXPECT_FALSE(plan.ends_epoch);
  }
  EXPECT_TRUE(next_step(here, StreamExtent{24, true}, 8)->ends_epoch);
  const StepPlan last = next_step(here, StreamExtent{19, true}, 8).value();
  EXPECT_EQ(last.positions, (PositionRange{16, 19}));
  EXPECT_EQ(last.after(), (Position{Epoch(1), 0, Step(3)}));
  EXPECT_FALSE(next_step(here, StreamExtent{16, true}, 8).has_value());
}

TEST(Position, another_data_set_is_refused) {
  EXPECT_EQ(
      validate(Position{Epoch(3), 120, Step(9)}, 100).error().message,
      "cannot continue at position 120 of epoch 3: the data set has 100 samples. Use the data "
      "set that training began with.");
  EXPECT_FALSE(validate(Position{}, 0).ok());
  EXPECT_TRUE(validate(Position{Epoch(3), 99, Step(9)}, 100).ok());
}

TEST(Position, reads_what_it_wrote) {
  const Position position{Epoch(3), 120, Step(9)};
  EXPECT_EQ(json_line(position), R"({"epoch":3,"position":120,"step":9})");
  EXPECT_EQ(position_from(Json(position)).value(), position);
}

}  // namespace
}  // namespace edl::model
