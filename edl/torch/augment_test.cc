#include "edl/torch/augment.h"

#include <gtest/gtest.h>

#include "edl/torch/trainee.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;

// Ten samples of twenty numbers: sample i is all i.
std::shared_ptr<const Dataset> plain() {
  const Tensor numbers = ::torch::arange(10, ::torch::kFloat32);
  return tensors(numbers.view({10, 1}).expand({10, 20}), ::torch::arange(10)).value();
}

// With noise that depends on how much was drawn before.
std::shared_ptr<const Dataset> noisy() {
  return augmented(plain(),
                   [](const Tensor& x, const ::torch::Generator& random) {
                     const Tensor shift = ::torch::randn({1}, random);
                     return x + shift + ::torch::rand({20}, random);
                   })
      .value();
}

Tensor sample(const Dataset& data, std::vector<std::uint64_t> samples, std::int64_t i, Draw draw) {
  return data.batch(samples, draw).value().x[i];
}

constexpr Draw kDraw{.seed = 3, .epoch = 1};

TEST(Augment, a_sample_has_the_same_bits_in_every_batch) {
  const auto data = noisy();
  const Tensor alone = sample(*data, {5}, 0, kDraw);
  EXPECT_TRUE(alone.equal(sample(*data, {1, 5, 7}, 1, kDraw)));
  EXPECT_TRUE(alone.equal(sample(*data, {9, 8, 7, 5}, 3, kDraw)));
  EXPECT_TRUE(alone.equal(sample(*noisy(), {5, 5}, 1, kDraw))) << "another process";
}

TEST(Augment, another_epoch_seed_or_sample_draws_other_numbers) {
  const auto data = noisy();
  const auto noise = [&](std::uint64_t i, Draw draw) {
    return sample(*data, {i}, 0, draw) - static_cast<double>(i);
  };
  const Tensor one = noise(5, kDraw);
  EXPECT_TRUE(one.equal(noise(5, kDraw)));
  EXPECT_FALSE(one.allclose(noise(5, {.seed = 3, .epoch = 2})));
  EXPECT_FALSE(one.allclose(noise(5, {.seed = 4, .epoch = 1})));
  EXPECT_FALSE(one.allclose(noise(6, kDraw)));
}

TEST(Augment, what_parts_draw_is_left_alone) {
  ::torch::manual_seed(1);
  const Tensor first = ::torch::rand({4});
  const Tensor second = ::torch::rand({4});
  ::torch::manual_seed(1);
  EXPECT_TRUE(first.equal(::torch::rand({4})));
  sample(*noisy(), {1, 2}, 0, kDraw);
  EXPECT_TRUE(second.equal(::torch::rand({4})));
}

TEST(Augment, only_x_changes_and_only_for_the_one_who_asked) {
  const auto before = plain();
  const auto doubled = augmented(before, [](const Tensor& x, const ::torch::Generator&) {
                         return x.mul_(2);
                       }).value();
  const Batch batch = whole(*doubled).value();
  EXPECT_TRUE(batch.x.equal(whole(*before).value().x * 2));
  EXPECT_TRUE(batch.y.equal(::torch::arange(10)));
  EXPECT_TRUE(whole(*doubled).value().x.equal(batch.x)) << "the second time";
}

// Tells what it was asked for.
class Asked final : public Dataset {
 public:
  explicit Asked(std::vector<Draw>& draws) : draws_(draws) {}

  std::uint64_t size() const override { return 40; }
  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw& draw) const override {
    draws_.push_back(draw);
    return Batch{::torch::ones({static_cast<std::int64_t>(samples.size()), 2}), {}};
  }

 private:
  std::vector<Draw>& draws_;
};

TEST(Augment, the_data_are_told_the_seed_of_the_job_and_the_epoch) {
  Program program;
  program.forward = [](::torch::nn::Module& net, const Batch& batch) {
    return net.as<::torch::nn::LinearImpl>()->forward(batch.x).mean();
  };
  program.model = [] {
    auto net = std::make_shared<::torch::nn::LinearImpl>(2, 1);
    return Model{net, std::make_shared<::torch::optim::SGD>(net->parameters(), 0.1)};
  };
  std::vector<Draw> draws;
  const auto trainee = TorchTrainee::make(program, std::make_shared<Asked>(draws)).value();
  Bytes memory(1 << 12);
  const std::vector<ByteSpan> sums(trainee->segments().size(), memory);
  train::Part part{.epoch = model::Epoch(3), .indices = {1, 2, 3}, .step_samples = 3, .micro = 2};
  part.seed = 17;
  ASSERT_TRUE(trainee->compute(part, {sums}).ok());
  ASSERT_EQ(draws.size(), 2u);  // three samples, two at a time
  for (const Draw& draw : draws) {
    EXPECT_EQ(draw.seed, 17u);
    EXPECT_EQ(draw.epoch, 3u);
  }
}

TEST(Augment, an_error_of_the_data_is_passed_on) {
  const auto refused = augmented(Error{Code::kNotFound, "no such file"}, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no such file");
}

}  // namespace
}  // namespace edl::torch
