// What a step does to the parameters: its length, its rate.
#include "edl/torch/trained_test.h"

namespace edl::torch {
namespace {

TEST(TorchTrainee, a_gradient_that_is_too_long_is_clipped) {
  const auto moved = [](std::optional<double> clip_norm) {
    Program program =
        program_with([](Net& net) { return std::make_shared<optim::SGD>(net.parameters(), 1.0); });
    program.clip_norm = clip_norm;
    Trained trained(program);
    trained.initialise(7);
    const auto before = trained.state();
    trained.step(1, 3);
    return distance(before, trained.state());
  };
  const double whole = moved(std::nullopt);
  ASSERT_GT(whole, 0.1);
  EXPECT_NEAR(moved(0.05), 0.05, 1e-5);
  EXPECT_EQ(moved(2 * whole), whole) << "one that is short enough is left as it is";
}

// How far the first step goes, with plain SGD of rate 1 and weight decay 0.1.
double first_step(const std::function<void(Program&, Trained*)>& change) {
  Program program = program_with([](Net& net) {
    return std::make_shared<optim::SGD>(net.parameters(), optim::SGDOptions(1.0).weight_decay(0.1));
  });
  change(program, nullptr);
  Trained trained(program);
  change(program, &trained);
  trained.initialise(7);
  const auto before = trained.state();
  trained.step(1, 3);
  return distance(before, trained.state());
}

TEST(TorchTrainee, the_rate_is_that_of_view_and_schedule) {
  const double whole = first_step([](Program&, Trained*) {});
  const double both = first_step([](Program& program, Trained* trained) {
    program.schedule = [](const Progress& progress) {
      return progress.step == 1 && progress.epoch == 0 && progress.samples == 12 ? 0.5 : 100;
    };
    if (trained != nullptr) trained->lr_factor = 0.5;
  });
  EXPECT_NEAR(both, whole / 4, 1e-6);
}

// Each tensor moves by a thousandth of its own length, at most.
TEST(TorchTrainee, lars_moves_each_tensor_by_its_length) {
  Program program = program_with([](Net& net) {
    return std::make_shared<optim::SGD>(net.parameters(), optim::SGDOptions(1.0));
  });
  Trained trained(program);
  trained.lr_rule = model::RateRule::kLars;
  trained.initialise(7);
  const auto before = trained.state();
  trained.step(1, 3);
  const auto after = trained.state();
  int moved = 0;
  for (const auto& [name, bytes] : before) {
    if (!name.ends_with("weight") || !name.starts_with("model/")) continue;
    const std::map<std::string, Bytes> one{{name, bytes}};
    const double length = distance(one, {{name, Bytes(bytes.size())}});
    EXPECT_NEAR(distance(one, after) / length, 0.001, 1e-6) << name;
    ++moved;
  }
  EXPECT_GE(moved, 2);
}

}  // namespace
}  // namespace edl::torch
