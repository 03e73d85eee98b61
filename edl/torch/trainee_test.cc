#include "edl/torch/trained_test.h"

namespace edl::torch {
namespace {

void seed_torch(std::uint64_t seed) { ::torch::manual_seed(seed); }

TEST(TorchTrainee, one_part_is_what_a_plain_loop_computes) {
  for (const Named& one : optimizers()) {
    Trained trained(program_with(one.make));
    trained.initialise(7);
    seed_torch(7);
    Net net;
    const auto optimizer = one.make(net);
    const Batch all = samples(40);
    const auto data = tensors(all.x, all.y).value();
    for (std::uint64_t step = 1; step <= 5; ++step) {
      trained.step(step, 1);
      seed_torch(1000 * step);
      optimizer->zero_grad();
      loss_of(net, data->batch(trained.part(step, 0, 1).indices, {}).value()).backward();
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

TEST(TorchTrainee, gradients_piece_by_piece_are_the_same_as_in_one_go) {
  for (const std::uint64_t micro : {100, 5}) {
    Trained trained(program_with(sgd()));
    trained.initialise(7);
    trained.step(1, 1);  // gradients that were applied are not in the way
    train::Part part = trained.part(2, 0, 1);
    part.micro = micro;
    const Bytes whole = trained.compute(part);
    EXPECT_EQ(trained.compute_streamed(part), whole) << micro;
    EXPECT_EQ(trained.compute(part), whole) << micro;
    part.indices.front() += 1;
    EXPECT_NE(trained.compute_streamed(part), whole) << micro;
  }
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

TEST(TorchTrainee, a_shared_parameter_is_trained_once_and_kept_under_each_name) {
  Trained trained(words(false));
  trained.initialise(7);
  const auto before = trained.state();
  EXPECT_EQ(before.at("model/output"), before.at("model/table.weight"));
  trained.step(1, 2);
  EXPECT_NE(trained.state().at("model/output"), before.at("model/output"));
  EXPECT_EQ(trained.state().at("model/output"), trained.state().at("model/table.weight"));
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
    auto made = TorchTrainee::make(program, data_of(program.data));
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
  const auto computed = trained.trainee().compute(trained.part(1, 0, 1), {spans});
  ASSERT_FALSE(computed.ok());
  EXPECT_NE(computed.error().message.find("mean loss"), std::string::npos);

  Trained sparse(words(true));
  sparse.initialise(1);
  spans.clear();
  for (const auto& segment : sparse.trainee().segments()) {
    spans.push_back(ByteSpan(memory).first(segment.count * 8));
  }
  const auto summed = sparse.trainee().compute(sparse.part(1, 0, 1), {spans});
  ASSERT_FALSE(summed.ok());
  EXPECT_NE(summed.error().message.find("sparse"), std::string::npos) << summed.error().message;
}

}  // namespace
}  // namespace edl::torch