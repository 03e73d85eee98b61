// What a program gives beside model, data and forward: metrics, held-out data, registered state,
// hooks, a loss that is scaled.
#include <ATen/autocast_mode.h>

#include <limits>

#include "edl/torch/trained_test.h"

namespace edl::torch {
namespace {

Outcome measured(Net& net, const Batch& batch) {
  const Tensor scores = net.forward(batch.x);
  return {nn::functional::cross_entropy(scores, batch.y),
          {{"accuracy", accuracy(scores, batch.y)}}};
}

Program measuring() {
  Program out = program_with(sgd());
  out.forward = program<Net>(sgd(), measured).forward;
  out.metrics = {"accuracy"};
  out.test = [] {
    const Batch all = samples(23);
    return tensors(all.x, all.y);
  };
  return out;
}

TEST(TorchTrainee, shares_of_an_evaluation_add_up_to_the_whole) {
  Trained trained(measuring());
  trained.initialise(7);
  trained.step(1, 3);
  train::Trainee& trainee = trained.trainee();
  ASSERT_EQ(trainee.evaluation_names(), (std::vector<std::string>{"test_loss", "accuracy"}));
  ASSERT_EQ(trainee.held_out(), 23u);
  const auto before = trained.state();
  const auto whole = trainee.evaluate(0, 23).value();
  const auto first = trainee.evaluate(0, 9).value();
  const auto rest = trainee.evaluate(9, 23).value();
  EXPECT_NEAR(whole[0], first[0] + rest[0], 1e-4);
  EXPECT_NEAR(whole[1], first[1] + rest[1], 1e-9);
  EXPECT_NEAR(whole[1], std::round(whole[1]), 1e-9) << "a number of samples";
  EXPECT_EQ(trainee.evaluate(0, 9).value(), first) << "the same each time";
  EXPECT_EQ(trained.state(), before) << "an evaluation changes nothing";
}

TEST(TorchTrainee, an_evaluation_of_no_samples_at_a_time_is_refused) {
  Program program = measuring();
  program.test_batch = 0;
  const auto made = TorchTrainee::make(program, data_of(program.data), data_of(program.test));
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("test_batch"), std::string::npos);
}

TEST(TorchTrainee, a_metric_that_forward_does_not_measure_is_named) {
  Program program = measuring();
  program.metrics = {"accuracy", "recall"};
  Trained trained(program);
  trained.initialise(7);
  const auto done = trained.try_compute(trained.part(1, 0, 3));
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("did not measure recall"), std::string::npos);
}

// A program with an average of its weights, a count of its steps and of its resizes.
Program registering() {
  Program out = program_with(sgd());
  const auto make = out.model;
  out.model = [make] {
    Model model = make();
    model.user["average"] = static_cast<Net&>(*model.net).output->weight.detach().clone();
    model.user["counts"] = ::torch::zeros({2}, ::torch::kInt64);
    return model;
  };
  out.on_step = [](Model& model, const AppliedStep& step) {
    const Tensor& weight = static_cast<Net&>(*model.net).output->weight;
    // Not in place: what is registered takes the numbers all the same.
    model.user["average"] = 0.9 * model.user["average"] + 0.1 * weight;
    model.user["counts"][0] = static_cast<std::int64_t>(step.progress.step);
  };
  out.on_resize = [](Model& model, std::uint32_t before, std::uint32_t now) {
    model.user["counts"][1] += static_cast<std::int64_t>(10 * before + now);
  };
  return out;
}

std::vector<std::int64_t> counts_in(const std::map<std::string, Bytes>& state) {
  std::vector<std::int64_t> out(2);
  std::memcpy(out.data(), state.at("user/counts").data(), sizeof(std::int64_t) * out.size());
  return out;
}

TEST(TorchTrainee, registered_state_follows_the_hooks_and_travels) {
  Trained first(registering());
  first.initialise(7);
  const Bytes begun = first.state().at("user/average");
  EXPECT_EQ(begun, first.state().at("model/output.weight"));
  first.step(1, 3);
  first.members_before = 2;
  first.step(2, 3);
  first.members_before.reset();
  const auto state = first.state();
  EXPECT_EQ(counts_in(state), (std::vector<std::int64_t>{2, 21}));
  EXPECT_NE(state.at("user/average"), begun);
  // Another process goes on with what it was given, to the same bits.
  Trained other(registering());
  other.load(state);
  first.step(3, 3);
  other.step(3, 3);
  EXPECT_EQ(first.state(), other.state());
}

TEST(TorchTrainee, registered_state_keeps_its_shape) {
  Program program = registering();
  program.on_step = [](Model& model, const AppliedStep&) {
    model.user["average"] = ::torch::zeros({1});
  };
  Trained trained(program);
  trained.initialise(7);
  const auto applied = trained.try_step(1, 3);
  ASSERT_FALSE(applied.ok());
  EXPECT_NE(applied.error().message.find("average"), std::string::npos) << applied.error().message;
}

Program exploding(bool is_scaled) {
  Program out = program_with(sgd());
  out.forward = program<Net>(sgd(), [](Net& net, const Batch& batch) {
                  return loss_of(net, batch) * std::numeric_limits<double>::infinity();
                }).forward;
  if (is_scaled) out.loss_scale = 1024;
  return out;
}

TEST(TorchTrainee, a_loss_that_is_no_number_ends_the_program_with_a_way_out) {
  Trained trained(exploding(false));
  trained.initialise(7);
  const auto done = trained.try_compute(trained.part(5, 0, 3));
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("lower the learning rate"), std::string::npos);
  EXPECT_NE(done.error().message.find("--step=5"), std::string::npos) << done.error().message;
}

double scale_in(const std::map<std::string, Bytes>& state) {
  double scale = 0;
  std::memcpy(&scale, state.at("user/edl.loss_scale").data(), sizeof scale);
  return scale;
}

TEST(TorchTrainee, a_scaled_loss_skips_what_is_infinite_and_halves) {
  Trained trained(exploding(true));
  trained.initialise(7);
  const auto before = trained.state();
  const auto applied = trained.try_step(1, 3);
  ASSERT_TRUE(applied.ok());
  EXPECT_FALSE(applied->applied);
  const auto after = trained.state();
  EXPECT_EQ(scale_in(before), 1024);
  EXPECT_EQ(scale_in(after), 512);
  EXPECT_EQ(distance(before, after), 0);
}

TEST(TorchTrainee, a_scaled_loss_trains_like_one_that_is_not) {
  Program program = program_with(sgd());
  Trained plain(program);
  program.loss_scale = 4096;  // a power of two: no bit is lost
  Trained scaled(program);
  plain.initialise(7);
  scaled.initialise(7);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    plain.step(step, 3);
    scaled.step(step, 3);
  }
  EXPECT_EQ(distance(plain.state(), scaled.state()), 0);
}

TEST(TorchTrainee, bfloat16_is_near_float32_and_another_result) {
  Program program = program_with(sgd());
  Trained exact(program);
  program.bfloat16 = true;
  Trained rough(program);
  exact.initialise(7);
  rough.initialise(7);
  exact.step(1, 3);
  rough.step(1, 3);
  const double apart = distance(exact.state(), rough.state());
  EXPECT_GT(apart, 0);
  EXPECT_LT(apart, 0.05);
  EXPECT_FALSE(at::autocast::is_cpu_enabled());
}

}  // namespace
}  // namespace edl::torch
