#include "edl/torch/trained_test.h"
#include "edl/train/node_sums.h"

namespace edl::torch {
namespace {

constexpr std::uint32_t kParts = 4;
constexpr std::uint64_t kSamples = 12;

// Numbers of the program's own that are a gradient.
Tensor pull() {
  static const Tensor numbers = ::torch::linspace(-1, 1, 6).requires_grad_(false);
  return numbers;
}
struct Pull : ::torch::autograd::Function<Pull> {
  static Tensor forward(::torch::autograd::AutogradContext*, const Tensor& x) { return x * 1; }
  static ::torch::autograd::variable_list backward(::torch::autograd::AutogradContext*,
                                                   const ::torch::autograd::variable_list&) {
    return {pull()};
  }
};

// The gradients of `a` and `b` are the same numbers, and autograd gives them the same memory. That
// of `c` is the program's.
struct Shared : nn::Module {
  Shared() {
    a = register_parameter("a", ::torch::randn({2, 3}));
    b = register_parameter("b", ::torch::randn({3, 2}));
    c = register_parameter("c", ::torch::randn({2, 3}));
    output = register_module("output", nn::Linear(6, 3));
  }
  Tensor forward(const Tensor& x) {
    return output->forward(x * (a.view({6}) + b.view({6})) + Pull::apply(c.view({6})));
  }
  Tensor a;
  Tensor b;
  Tensor c;
  nn::Linear output{nullptr};
};

std::unique_ptr<train::Trainee> shared_trainee() {
  const Program out = program<Shared>(
      [](Shared& net) { return std::make_shared<optim::SGD>(net.parameters(), 0.1); },
      [](Shared& net, const Batch& batch) {
        return nn::functional::cross_entropy(net.forward(batch.x), batch.y);
      });
  const Batch all = samples(kSamples);
  auto trainee = TorchTrainee::make(out, tensors(all.x, all.y).value()).value();
  EXPECT_TRUE(trainee->initialise(7).ok());
  return trainee;
}

train::Part part(std::uint32_t v) {
  train::Part out{
      .step = model::Step(1), .v = model::LogicalWorker(v), .step_samples = kSamples, .micro = 100};
  for (std::uint64_t i = 0; i < kSamples / kParts; ++i) {
    out.indices.push_back(v * kSamples / kParts + i);
  }
  return out;
}

// Into sums, and notes what it has passed on.
class Noting final : public train::GradientSink {
 public:
  Noting(train::NodeSums& sums, bool holds) : sums_(sums), holds_(holds) {}
  void take(std::size_t segment, std::uint64_t offset, train::GradientPiece piece) override {
    pieces.push_back(piece);
    if (!holds_) piece.holder.reset();
    sums_.fold(segment, offset, std::move(piece));
  }
  void taken_from(std::size_t, std::uint64_t) override {}

  std::vector<train::GradientPiece> pieces{};

 private:
  train::NodeSums& sums_;
  const bool holds_;
};

Bytes sum_of_parts(bool holds) {
  const auto trainee = shared_trainee();
  const collective::Layout layout(trainee->segments());
  const model::TreeNode all{0, kParts};
  train::NodeSums sums(layout);
  sums.begin(kParts);
  for (std::uint32_t v = 0; v < kParts; ++v) {
    sums.open(model::LogicalWorker(v),
              {.count = trainee->gradient_segments(), .whole = std::span(&all, 1)});
    Noting sink(sums, holds);
    EXPECT_TRUE(trainee->compute(part(v), {sums.room(), &sink}).ok());
    sums.close();
  }
  return copy_bytes(sums.sum(all));
}

TEST(HeldGradients, sums_that_are_made_in_their_memory_are_the_same) {
  const Tensor before = pull().clone();
  EXPECT_EQ(sum_of_parts(true), sum_of_parts(false));
  EXPECT_TRUE(pull().equal(before));
}

TEST(HeldGradients, memory_that_others_see_is_left_alone) {
  const auto trainee = shared_trainee();
  const collective::Layout layout(trainee->segments());
  train::NodeSums sums(layout);
  sums.begin(kParts);
  sums.open(model::LogicalWorker(0), {.count = trainee->gradient_segments()});
  Noting sink(sums, true);
  ASSERT_TRUE(trainee->compute(part(0), {sums.room(), &sink}).ok());
  ASSERT_EQ(sink.pieces.size(), 5U);
  int alone = 0;
  for (const train::GradientPiece& piece : sink.pieces) {
    const auto shares = std::ranges::count_if(sink.pieces, [&](const train::GradientPiece& other) {
      return other.numbers.data() == piece.numbers.data();
    });
    if (shares > 1) {
      EXPECT_FALSE(piece.holder->is_alone());
    }
    if (piece.holder->is_alone()) ++alone;
  }
  EXPECT_EQ(alone, 2) << "those of the layer";
}

}  // namespace
}  // namespace edl::torch
