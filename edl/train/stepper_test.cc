#include "edl/train/stepper.h"

#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"

namespace edl::train {
namespace {

constexpr std::uint64_t kSamples = 50;
constexpr std::uint64_t kSteps = 20;

// Notes what it is told and asked.
class Noting final : public Trainee {
 public:
  model::SampleCount samples() const override { return kSamples; }
  std::vector<collective::Segment> segments() const override {
    return {{collective::Element::kF32, 1}};
  }
  std::size_t gradient_segments() const override { return 1; }
  Result<void> initialise(std::uint64_t) override { return {}; }
  std::vector<StateTensor> state() override { return {}; }
  bool loads_ahead() const override { return true; }
  void upcoming(const Part& part) override { told_ = part; }
  Result<PartSums> compute(const Part& part, const PartRoom&) override {
    parts.push_back(part);
    told.push_back(std::exchange(told_, std::nullopt));
    return PartSums{};
  }
  Result<Applied> apply(const ReducedStep&) override {
    ++applied;
    return Applied{};
  }

  std::vector<Part> parts{};
  std::vector<std::optional<Part>> told{};  // before each of them
  std::uint64_t applied = 0;
  std::vector<Part> traced{};  // as the stepper tells

 private:
  std::optional<Part> told_{};
};

membership::Rules rules() { return {.logical_workers = 4, .batch = 8, .steps = kSteps}; }

// A member that trains alone, perhaps while it still rehearses.
class Alone final : public os::Program {
 public:
  Alone(os::System& system, Noting& trainee, bool rehearses)
      : executor_(
            system, [] { return 1ms; }, [] { return Duration(); }),
        stepper_(system, executor_, trainee, rules(), 7,
                 {.applying = [](model::Step) {},
                  .completed =
                      [&system](const model::Position& here, Duration) {
                        if (rules().is_finished(here)) system.finish(0);
                      },
                  .stable = [](model::Step) {},
                  .violated = [](model::Rank, const Error& error) { FAIL() << error.message; },
                  .wants = [](std::uint64_t) {},
                  .failed = [](model::Step, std::optional<model::LogicalWorker>,
                               const Error& error) { FAIL() << error.message; },
                  .computed = [&](const Part& part,
                                  model::Generation) { trainee.traced.push_back(part); },
                  .phase = [](Phase, model::Step) {}}) {
    model::View view;
    view.generation = model::Generation(1);
    view.first_step = model::Step(1);
    view.batch = rules().batch_of(1);
    view.members.emplace_back().id = "w1";
    for (std::uint32_t v = 0; v < 4; ++v) {
      view.members[0].logical.push_back(model::LogicalWorker(v));
    }
    if (rehearses) stepper_.rehearse([] {});
    stepper_.enter(view, model::Rank(0), {nullptr});
  }

 private:
  TimedExecutor executor_;
  Stepper stepper_;
};

bool is_same(const Part& a, const Part& b) {
  return a.step == b.step && a.epoch == b.epoch && a.v == b.v && a.indices == b.indices &&
         a.seed == b.seed && a.random_seed == b.random_seed && a.micro == b.micro;
}

void train_alone(Noting& trainee, bool rehearses) {
  os::VirtualWorld world({.seed = 1, .quiet = true});
  world.add_node("a");
  world.install("alone", [&](os::System& system, const os::Arguments&) {
    return std::make_unique<Alone>(system, trainee, rehearses);
  });
  world.start(0, {"alone"});
  world.run_for(60s);
}

TEST(Stepper, a_rehearsal_counts_for_nothing_also_when_a_view_begins_meanwhile) {
  Noting plain;
  train_alone(plain, false);
  Noting rehearsed;
  train_alone(rehearsed, true);
  EXPECT_EQ(rehearsed.applied, kSteps);
  ASSERT_EQ(rehearsed.parts.size(), plain.parts.size() + 1);
  EXPECT_TRUE(is_same(rehearsed.parts[0], rehearsed.parts[1])) << "as the first one of all";
  ASSERT_EQ(rehearsed.traced.size(), plain.traced.size());
  for (std::size_t i = 0; i < plain.traced.size(); ++i) {
    EXPECT_TRUE(is_same(rehearsed.traced[i], plain.traced[i])) << i;
  }
}

TEST(Stepper, tells_the_part_that_comes_next_also_across_steps_and_epochs) {
  Noting trainee;
  train_alone(trainee, false);
  // The last step of an epoch has two samples: two parts of it are empty.
  ASSERT_GT(trainee.parts.size(), kSteps * 3);
  EXPECT_GE(trainee.parts.back().epoch.value(), 2U);
  for (std::size_t i = 0; i + 1 < trainee.parts.size(); ++i) {
    ASSERT_TRUE(trainee.told[i].has_value()) << i;
    EXPECT_TRUE(is_same(*trainee.told[i], trainee.parts[i + 1])) << i;
  }
  EXPECT_FALSE(trainee.told.back().has_value()) << "nothing comes behind the last step";
}

}  // namespace
}  // namespace edl::train
