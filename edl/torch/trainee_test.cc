#include "edl/torch/trainee.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "edl/base/random.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;
namespace nn = ::torch::nn;
namespace optim = ::torch::optim;

struct Net : nn::Module {
  Net() {
    hidden = register_module("hidden", nn::Linear(6, 8));
    norm = register_module("norm", nn::BatchNorm1d(8));
    drop = register_module("drop", nn::Dropout(0.25));
    output = register_module("output", nn::Linear(8, 3));
    unused = register_parameter("unused", ::torch::ones({5}));
  }
  Tensor forward(const Tensor& x) {
    return output->forward(drop->forward(norm->forward(::torch::relu(hidden->forward(x)))));
  }
  nn::Linear hidden{nullptr};
  nn::BatchNorm1d norm{nullptr};
  nn::Dropout drop{nullptr};
  nn::Linear output{nullptr};
  Tensor unused;
};

using MakeOptimizer = std::function<std::shared_ptr<optim::Optimizer>(Net&)>;

Batch samples(std::int64_t count) {
  Batch batch{::torch::empty({count, 6}), ::torch::empty({count}, ::torch::kInt64)};
  Random random(3);
  float* x = batch.x.data_ptr<float>();
  for (std::int64_t i = 0; i < 6 * count; ++i) x[i] = static_cast<float>(random.below(100)) / 50;
  std::int64_t* y = batch.y.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<std::int64_t>(random.below(3));
  return batch;
}

Tensor loss_of(Net& net, const Batch& batch) {
  return nn::functional::cross_entropy(net.forward(batch.x), batch.y);
}

Program program_with(const MakeOptimizer& make) {
  Program out = program<Net>(make, loss_of);
  out.data = [] {
    const Batch all = samples(40);
    return tensors(all.x, all.y);
  };
  return out;
}

MakeOptimizer sgd() {
  return [](Net& net) {
    return std::make_shared<optim::SGD>(
        net.parameters(), optim::SGDOptions(0.1).momentum(0.9).dampening(0.2).weight_decay(0.01));
  };
}

struct Named {
  const char* name;
  MakeOptimizer make;
};
std::vector<Named> optimizers() {
  return {
      {"sgd", sgd()},
      {"plain sgd", [](Net& net) { return std::make_shared<optim::SGD>(net.parameters(), 0.1); }},
      {"adam",
       [](Net& net) {
         return std::make_shared<optim::Adam>(net.parameters(),
                                              optim::AdamOptions(0.01).amsgrad(true));
       }},
      {"adamw",
       [](Net& net) {
         return std::make_shared<optim::AdamW>(net.parameters(), optim::AdamWOptions(0.01));
       }},
      {"rmsprop",
       [](Net& net) {
         return std::make_shared<optim::RMSprop>(
             net.parameters(), optim::RMSpropOptions(0.01).momentum(0.5).centered(true));
       }},
      {"adagrad", [](Net& net) {
         return std::make_shared<optim::Adagrad>(
             net.parameters(), optim::AdagradOptions(0.1).initial_accumulator_value(0.3));
       }}};
}

// Trains without any of EDL's machinery around it: parts are summed one after the other.
class Trained {
 public:
  explicit Trained(const Program& program)
      : trainee_(TorchTrainee::make(program, program.data().value()).value()),
        layout_(trainee_->segments()) {}

  void initialise(std::uint64_t seed) { ASSERT_TRUE(trainee_->initialise(seed).ok()); }

  train::Part part(std::uint64_t step, std::uint32_t v, std::uint32_t parts) const {
    train::Part out{.step = model::Step(step), .v = model::LogicalWorker(v), .step_samples = 12};
    out.micro = micro;
    out.random_seed = 1000 * step + v;
    for (std::uint64_t i = v * 12 / parts; i < (v + 1) * 12 / parts; ++i) {
      out.indices.push_back((step * 12 + i) % 40);
    }
    return out;
  }
  // What a part gives: bytes of all segments.
  Bytes compute(const train::Part& part) {
    Bytes memory(layout_.sum_bytes());
    const auto spans = cut(memory);
    const auto done = trainee_->compute(part, spans);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return memory;
  }
  void step(std::uint64_t number, std::uint32_t parts) {
    Bytes sum = compute(part(number, 0, parts));
    for (std::uint32_t v = 1; v < parts; ++v) {
      Bytes more = compute(part(number, v, parts));
      for (std::size_t i = 0; i < layout_.segments().size(); ++i) {
        const auto element = collective::sum_element(layout_.segments()[i].element);
        collective::add(element, cut(sum)[i], cut(more)[i], cut(sum)[i]);
      }
    }
    const auto spans = cut(sum);
    const std::vector<ConstBytes> sums(spans.begin(), spans.end());
    const auto applied =
        trainee_->apply({.step = model::Step(number), .samples = 12, .sums = sums});
    ASSERT_TRUE(applied.ok()) << applied.error().message;
  }
  std::map<std::string, Bytes> state() {
    std::map<std::string, Bytes> out;
    for (const train::StateTensor& one : trainee_->state()) {
      out[one.name] = Bytes(one.bytes.begin(), one.bytes.end());
    }
    return out;
  }
  void load(const std::map<std::string, Bytes>& state) {
    for (const train::StateTensor& one : trainee_->state()) {
      std::memcpy(one.bytes.data(), state.at(one.name).data(), one.bytes.size());
    }
    trainee_->loaded();
  }
  train::Trainee& trainee() { return *trainee_; }

  std::uint64_t micro = 100;

 private:
  std::vector<ByteSpan> cut(Bytes& memory) const {
    std::vector<ByteSpan> out;
    for (std::size_t i = 0; i < layout_.segments().size(); ++i) {
      const collective::Range range = layout_.sums(i);
      out.push_back(ByteSpan(memory).subspan(range.offset, range.bytes));
    }
    return out;
  }

  std::unique_ptr<train::Trainee> trainee_;
  collective::Layout layout_;
};

void seed_torch(std::uint64_t seed) { ::torch::manual_seed(seed); }

TEST(TorchTrainee, one_part_is_what_a_plain_loop_computes) {
  for (const Named& one : optimizers()) {
    Trained trained(program_with(one.make));
    trained.initialise(7);
    seed_torch(7);
    Net net;
    const auto optimizer = one.make(net);
    const Batch all = samples(40);
    const auto data = tensors(all.x, all.y);
    for (std::uint64_t step = 1; step <= 5; ++step) {
      trained.step(step, 1);
      seed_torch(1000 * step);
      optimizer->zero_grad();
      loss_of(net, data->batch(trained.part(step, 0, 1).indices, {})).backward();
      optimizer->step();
    }
    const auto state = trained.state();
    for (const auto& item : net.named_parameters()) {
      EXPECT_EQ(std::memcmp(state.at("model/" + item.key()).data(), item.value().data_ptr(),
                            item.value().nbytes()),
                0)
          << one.name << ": " << item.key();
    }
    for (const auto& item : net.named_buffers()) {
      EXPECT_EQ(std::memcmp(state.at("model/" + item.key()).data(), item.value().data_ptr(),
                            item.value().nbytes()),
                0)
          << one.name << ": " << item.key();
    }
  }
}

TEST(TorchTrainee, goes_on_from_a_state_that_was_copied_at_any_step) {
  for (const Named& one : optimizers()) {
    Trained first(program_with(one.make));
    first.initialise(7);
    for (std::uint64_t step = 1; step <= 6; ++step) {
      Trained second(program_with(one.make));
      second.load(first.state());
      first.step(step, 3);
      second.step(step, 3);
      EXPECT_EQ(first.state(), second.state()) << one.name << " after step " << step;
    }
  }
}

TEST(TorchTrainee, a_part_is_the_same_whoever_computes_it_and_after_whatever) {
  Trained one(program_with(sgd()));
  Trained other(program_with(sgd()));
  one.initialise(7);
  other.initialise(7);
  one.step(1, 3);
  other.step(1, 3);
  other.compute(other.part(9, 1, 3));
  EXPECT_EQ(one.compute(one.part(2, 2, 3)), other.compute(other.part(2, 2, 3)));
  EXPECT_NE(one.compute(one.part(2, 2, 3)), one.compute(one.part(2, 1, 3)));
}

TEST(TorchTrainee, micro_batches_are_weighted_and_added_in_order) {
  Trained whole(program_with(sgd()));
  Trained cut(program_with(sgd()));
  whole.initialise(7);
  cut.initialise(7);
  cut.micro = 5;
  EXPECT_NE(whole.compute(whole.part(1, 0, 1)), cut.compute(cut.part(1, 0, 1)));
  EXPECT_EQ(cut.compute(cut.part(1, 0, 1)), cut.compute(cut.part(1, 0, 1)));
}

TEST(TorchTrainee, a_parameter_that_no_loss_depends_on_is_left_alone) {
  Trained trained(program_with(sgd()));  // with weight decay
  trained.initialise(7);
  const Bytes before = trained.state().at("model/unused");
  trained.step(1, 2);
  EXPECT_EQ(trained.state().at("model/unused"), before);
}

// Of what a step changed, over all parameters.
double distance(const std::map<std::string, Bytes>& before,
                const std::map<std::string, Bytes>& after) {
  double squares = 0;
  for (const auto& [name, bytes] : before) {
    if (name.find("running") != std::string::npos || name.find("tracked") != std::string::npos ||
        !name.starts_with("model/")) {
      continue;
    }
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      float one = 0;
      float other = 0;
      std::memcpy(&one, bytes.data() + at, sizeof one);
      std::memcpy(&other, after.at(name).data() + at, sizeof other);
      squares += (static_cast<double>(one) - other) * (static_cast<double>(one) - other);
    }
  }
  return std::sqrt(squares);
}

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

// Its table is the output's matrix too, or has a sparse gradient of its own.
struct Words : nn::Module {
  explicit Words(bool is_sparse) {
    table = register_module("table", nn::Embedding(nn::EmbeddingOptions(40, 4).sparse(is_sparse)));
    output = register_parameter("output", is_sparse ? ::torch::ones({40, 4}) : table->weight);
  }
  nn::Embedding table{nullptr};
  Tensor output;
};

Program words(bool is_sparse) {
  Program out;
  out.data = [] {
    const auto numbers = ::torch::arange(40);
    return tensors(numbers, numbers.flip(0));
  };
  out.model = [is_sparse] {
    auto net = std::make_shared<Words>(is_sparse);
    return Model{net, std::make_shared<optim::SGD>(net->parameters(), 0.5)};
  };
  out.forward = [](nn::Module& net, const Batch& batch) {
    auto& known = static_cast<Words&>(net);
    const Tensor x = known.table->forward(batch.x);
    return nn::functional::cross_entropy(x.matmul(known.output.t()), batch.y);
  };
  return out;
}

TEST(TorchTrainee, a_shared_parameter_is_trained_once_under_its_first_name) {
  Trained trained(words(false));
  trained.initialise(7);
  const auto before = trained.state();
  EXPECT_TRUE(before.contains("model/output"));
  EXPECT_FALSE(before.contains("model/table.weight"));
  trained.step(1, 2);
  EXPECT_NE(trained.state().at("model/output"), before.at("model/output"));
}

TEST(TorchTrainee, another_seed_gives_another_model) {
  Trained trained(program_with(sgd()));
  trained.initialise(7);
  const auto before = trained.state();
  trained.initialise(8);
  EXPECT_NE(trained.state(), before);
  trained.initialise(7);
  EXPECT_EQ(trained.state(), before);
}

TEST(TorchTrainee, what_cannot_be_trained_is_refused_with_a_sentence) {
  const auto refusal = [](const Program& program) {
    auto made = TorchTrainee::make(program, program.data().value());
    return made.ok() ? std::string() : made.error().message;
  };
  Program strange =
      program_with([](Net& net) { return std::make_shared<optim::LBFGS>(net.parameters()); });
  EXPECT_NE(refusal(strange).find("optimizer is not known"), std::string::npos);
  Program alien = program_with([](Net&) {
    return std::make_shared<optim::SGD>(std::vector<Tensor>{::torch::ones({2})}, 0.1);
  });
  EXPECT_NE(refusal(alien).find("none of the model's"), std::string::npos);
  Program whole = program_with(sgd());
  whole.forward = [](nn::Module& net, const Batch& batch) {
    return static_cast<Net&>(net).forward(batch.x);
  };
  Trained trained(whole);
  trained.initialise(1);
  Bytes memory(1 << 20);
  std::vector<ByteSpan> spans;
  for (const auto& segment : trained.trainee().segments()) {
    spans.push_back(ByteSpan(memory).first(segment.count * 8));
  }
  const auto computed = trained.trainee().compute(trained.part(1, 0, 1), spans);
  ASSERT_FALSE(computed.ok());
  EXPECT_NE(computed.error().message.find("mean loss"), std::string::npos);

  Trained sparse(words(true));
  sparse.initialise(1);
  spans.clear();
  for (const auto& segment : sparse.trainee().segments()) {
    spans.push_back(ByteSpan(memory).first(segment.count * 8));
  }
  const auto summed = sparse.trainee().compute(sparse.part(1, 0, 1), spans);
  ASSERT_FALSE(summed.ok());
  EXPECT_NE(summed.error().message.find("sparse"), std::string::npos) << summed.error().message;
}

}  // namespace
}  // namespace edl::torch
