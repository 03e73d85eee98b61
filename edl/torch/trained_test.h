// A small program for tests of what trains it, and a trainee without EDL's machinery around it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "edl/base/random.h"
#include "edl/torch/trainee.h"

namespace edl::torch {

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

inline Batch samples(std::int64_t count) {
  Batch batch{::torch::empty({count, 6}), ::torch::empty({count}, ::torch::kInt64)};
  Random random(3);
  float* x = batch.x.data_ptr<float>();
  for (std::int64_t i = 0; i < 6 * count; ++i) x[i] = static_cast<float>(random.below(100)) / 50;
  std::int64_t* y = batch.y.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<std::int64_t>(random.below(3));
  return batch;
}

inline Tensor loss_of(Net& net, const Batch& batch) {
  return nn::functional::cross_entropy(net.forward(batch.x), batch.y);
}

inline Program program_with(const MakeOptimizer& make) {
  Program out = program<Net>(make, loss_of);
  out.data = [] {
    const Batch all = samples(40);
    return tensors(all.x, all.y);
  };
  return out;
}

inline MakeOptimizer sgd() {
  return [](Net& net) {
    return std::make_shared<optim::SGD>(
        net.parameters(), optim::SGDOptions(0.1).momentum(0.9).dampening(0.2).weight_decay(0.01));
  };
}

struct Named {
  const char* name;
  MakeOptimizer make;
};
inline std::vector<Named> optimizers() {
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

// Of a program that fetches nothing.
inline std::shared_ptr<const Dataset> data_of(const DataFunction& data) {
  data::Cache none({}, nullptr);
  return data ? data(none).value() : nullptr;
}

// Writes what comes to its place.
class Pieces final : public train::GradientSink {
 public:
  Pieces(std::vector<ByteSpan> places, const collective::Layout& layout)
      : places_(std::move(places)), layout_(layout) {}
  void take(std::size_t segment, std::uint64_t offset, train::GradientPiece piece) override {
    collective::fold(layout_.segments()[segment].element,
                     {.one = {piece.numbers.data(), piece.share}},
                     places_[segment].subspan(offset, piece.numbers.size()));
  }
  void taken_from(std::size_t, std::uint64_t) override {}

 private:
  const std::vector<ByteSpan> places_;
  const collective::Layout& layout_;
};

// Trains without any of EDL's machinery around it: parts are summed one after the other.
class Trained {
 public:
  explicit Trained(const Program& program)
      : trainee_(TorchTrainee::make(program, data_of(program.data), data_of(program.test)).value()),
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
  Result<Bytes> try_compute(const train::Part& part) {
    Bytes memory(layout_.sum_bytes());
    const auto spans = cut(memory);
    EDL_TRY(const train::PartSums done, trainee_->compute(part, {spans}));
    found_inf_ = found_inf_ || done.found_inf;
    return memory;
  }
  // The same, with gradients that come piece by piece.
  Bytes compute_streamed(const train::Part& part) {
    Bytes memory(layout_.sum_bytes());
    const auto spans = cut(memory);
    Pieces pieces(spans, layout_);
    EXPECT_TRUE(trainee_->compute(part, {spans, &pieces}).ok());
    return memory;
  }
  Bytes compute(const train::Part& part) {
    auto done = try_compute(part);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return std::move(done).value();
  }
  void step(std::uint64_t number, std::uint32_t parts) {
    const auto applied = try_step(number, parts);
    ASSERT_TRUE(applied.ok()) << applied.error().message;
  }
  Result<train::Applied> try_step(std::uint64_t number, std::uint32_t parts) {
    found_inf_ = false;
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
    return trainee_->apply({.step = model::Step(number),
                            .samples = 12,
                            .seen = 12 * number,
                            .lr_factor = lr_factor,
                            .lr_rule = lr_rule,
                            .found_inf = found_inf_,
                            .sums = sums,
                            .members_before = members_before});
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
  double lr_factor = 1;
  model::RateRule lr_rule = model::RateRule::kNone;
  std::optional<std::uint32_t> members_before{};

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
  bool found_inf_ = false;
};

// Of what a step changed, over all parameters.
inline double distance(const std::map<std::string, Bytes>& before,
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

}  // namespace edl::torch
