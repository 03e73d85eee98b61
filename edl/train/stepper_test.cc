#include "edl/train/stepper.h"

#include <gtest/gtest.h>

#include <cstring>

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
  Result<PartSums> compute(const Part& part, const PartRoom& room) override {
    parts.push_back(part);
    told.push_back(std::exchange(told_, std::nullopt));
    const auto number = static_cast<float>(part.random_seed % 1000);
    std::memcpy(room.sums[0].data(), &number, sizeof number);
    return PartSums{};
  }
  Result<Applied> apply(const ReducedStep&) override {
    ++applied;
    return Applied{};
  }

  std::vector<Part> parts{};
  std::vector<std::optional<Part>> told{};  // before each of them
  std::uint64_t applied = 0;
  std::vector<Part> traced{};            // as the stepper tells
  std::uint64_t gone_on = 0;             // likewise
  std::vector<model::Digest> digests{};  // likewise

 private:
  std::optional<Part> told_{};
};

membership::Rules rules() { return {.logical_workers = 4, .batch = 8, .steps = kSteps}; }

struct Scene {
  bool rehearses = false;
  bool shares_soon = false;
  bool goes_on = false;
  Duration late{};                   // that the loop hears of what the executor did
  std::optional<Duration> leaves{};  // the view, after that time
};

// A member that trains alone, perhaps while it still rehearses. It compares what it is told with
// what the trainee was asked for.
class Alone final : public os::Program {
 public:
  Alone(os::System& system, Noting& trainee, const Scene& scene)
      : trainee_(trainee),
        executor_(
            system, [] { return 1ms; }, [late = scene.late] { return late; }),
        stepper_(system, executor_, trainee, rules(), 7,
                 {.applying =
                      [this](model::Step step) {
                        EXPECT_FALSE(is_applying_);
                        EXPECT_EQ(trainee_.applied + 1, step.value());
                        is_applying_ = true;
                      },
                  .not_applied = [this] { is_applying_ = false; },
                  .reduced = [] {},
                  .completed =
                      [this, &system](const model::Position& here, Duration) {
                        EXPECT_TRUE(std::exchange(is_applying_, false));
                        EXPECT_EQ(trainee_.applied, here.step.value());
                        EXPECT_EQ(stepper_.record().step, here.step);
                        digests.push_back(stepper_.record().digest);
                        if (rules().is_finished(here)) system.finish(0);
                      },
                  .stable = [](model::Step) {},
                  .violated = [](model::Rank, const Error& error) { FAIL() << error.message; },
                  .wants = [](std::uint64_t) {},
                  .failed = [](model::Step, std::optional<model::LogicalWorker>,
                               const Error& error) { FAIL() << error.message; },
                  .computed = [&](const Part& part,
                                  model::Generation) { trainee.traced.push_back(part); },
                  .phase = [](Phase, model::Step) {},
                  .shares_soon = [scene] { return scene.shares_soon; },
                  .goes_on = [scene] { return scene.goes_on; }}) {
    if (scene.rehearses) stepper_.rehearse();
    stepper_.enter(view(1), model::Rank(0), {nullptr});
    if (scene.leaves) leaving_ = system.after(*scene.leaves, [&] { leave(system); });
  }
  ~Alone() override {
    trainee_.gone_on = stepper_.gone_on();
    trainee_.digests = digests;
  }

 private:
  static model::View view(std::uint64_t first_step) {
    model::View view;
    view.generation = model::Generation(first_step);
    view.first_step = model::Step(first_step);
    view.batch = rules().batch_of(1);
    view.members.emplace_back().id = "w1";
    for (std::uint32_t v = 0; v < 4; ++v) {
      view.members[0].logical.push_back(model::LogicalWorker(v));
    }
    return view;
  }
  // Once nothing is applied any more, it goes on in another view.
  void leave(os::System& system) {
    stepper_.leave();
    entering_ = system.after(50ms, [this] {
      EXPECT_FALSE(is_applying_);
      EXPECT_EQ(stepper_.here().step.value(), trainee_.applied);
      stepper_.enter(view(trainee_.applied + 1), model::Rank(0), {nullptr});
    });
  }

  Noting& trainee_;
  bool is_applying_ = false;
  std::vector<model::Digest> digests;
  TimedExecutor executor_;
  Stepper stepper_;
  os::Pending leaving_;
  os::Pending entering_;
};

bool is_same(const Part& a, const Part& b) {
  return a.step == b.step && a.epoch == b.epoch && a.v == b.v && a.indices == b.indices &&
         a.seed == b.seed && a.random_seed == b.random_seed && a.micro == b.micro;
}

void train_alone(Noting& trainee, const Scene& scene) {
  os::VirtualWorld world({.seed = 1, .quiet = true});
  world.add_node("a");
  world.install("alone", [&](os::System& system, const os::Arguments&) {
    return std::make_unique<Alone>(system, trainee, scene);
  });
  world.start(0, {"alone"});
  world.run_for(60s);
}

TEST(Stepper, a_rehearsal_counts_for_nothing_also_when_a_view_begins_meanwhile) {
  Noting plain;
  train_alone(plain, {});
  Noting rehearsed;
  train_alone(rehearsed, {.rehearses = true});
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
  train_alone(trainee, {});
  // The last step of an epoch has two samples: two parts of it are empty.
  ASSERT_GT(trainee.parts.size(), kSteps * 3);
  EXPECT_GE(trainee.parts.back().epoch.value(), 2U);
  for (std::size_t i = 0; i + 1 < trainee.parts.size(); ++i) {
    ASSERT_TRUE(trainee.told[i].has_value()) << i;
    EXPECT_TRUE(is_same(*trainee.told[i], trainee.parts[i + 1])) << i;
  }
  EXPECT_FALSE(trainee.told.back().has_value()) << "nothing comes behind the last step";
}

void expect_same(const Noting& one, const Noting& other) {
  EXPECT_EQ(one.applied, kSteps);
  EXPECT_EQ(one.digests, other.digests);
  ASSERT_EQ(one.traced.size(), other.traced.size());
  for (std::size_t i = 0; i < one.traced.size(); ++i) {
    EXPECT_TRUE(is_same(one.traced[i], other.traced[i])) << i;
  }
}

TEST(Stepper, who_is_alone_goes_on_without_asking_and_does_the_same) {
  Noting plain;
  train_alone(plain, {});
  EXPECT_EQ(plain.gone_on, 0U);
  EXPECT_NE(plain.digests.front(), plain.digests.back()) << "they are not all the same anyway";
  for (const Duration late : {Duration(0ms), Duration(1ms), Duration(3ms)}) {
    Noting trainee;
    train_alone(trainee, {.goes_on = true, .late = late});
    expect_same(trainee, plain);
    EXPECT_GT(trainee.gone_on, kSteps / 2) << "not the first steps, nor very short ones";
  }
  Noting late;
  train_alone(late, {.goes_on = true, .late = 12ms});
  expect_same(late, plain);
  EXPECT_EQ(late.gone_on, 0U) << "a permit that comes too late";
}

// It leaves at any moment; a part that another view finds computed is not computed again.
TEST(Stepper, who_goes_on_without_asking_stops_when_it_leaves) {
  Noting plain;
  train_alone(plain, {});
  std::uint64_t gone_on = 0;
  bool shares_soon = false;
  for (Duration at = 1ms; at < 60ms; at += 250us) {
    for (const Duration late : {Duration(), Duration(1ms), Duration(2500us)}) {
      Noting trainee;
      train_alone(trainee,
                  {.shares_soon = shares_soon, .goes_on = true, .late = late, .leaves = at});
      shares_soon = !shares_soon;
      EXPECT_EQ(trainee.applied, kSteps);
      EXPECT_EQ(trainee.digests, plain.digests) << "left after " << seconds(at);
      gone_on += trainee.gone_on;
    }
  }
  EXPECT_GT(gone_on, 59U * 4 * 3 * kSteps / 2);
}

}  // namespace
}  // namespace edl::train
