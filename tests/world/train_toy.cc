#include "tests/world/train_toy.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "edl/base/random.h"
#include "edl/collective/elements.h"
#include "edl/model/batch.h"
#include "edl/model/order.h"
#include "edl/model/position.h"
#include "edl/model/tree.h"

namespace edl::tests {
namespace {

using Numbers = std::array<float, Toy::kNumbers>;

// A gradient that sums may be made in.
struct Held final : train::GradientHolder {
  explicit Held(const Numbers& computed) : numbers(computed) {}
  bool is_alone() const override { return true; }
  Numbers numbers;
};

// Numbers of very different sizes, so that the order of additions shows.
float feature(std::uint64_t sample, std::size_t i) {
  const std::uint64_t bits = mix64(sample * 31 + i);
  const int exponent = static_cast<int>(bits % 19) - 9;
  const float value = static_cast<float>(bits >> 40) / static_cast<float>(1 << 24) - 0.5F;
  return std::ldexp(value, exponent);
}

// As augmentation does: a sample is another one in each epoch and for each seed.
std::uint64_t drawn(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample) {
  return mix64(mix64(seed) ^ epoch) ^ sample;
}

// Depends on the weights, so that a wrong state shows in all that follows.
Numbers gradient(const Numbers& weights, const std::vector<std::uint64_t>& indices,
                 std::uint64_t step_samples) {
  Numbers sum{};
  for (const std::uint64_t index : indices) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += feature(index, i) - 0.01F * weights[i];
    }
  }
  const float weight = static_cast<float>(indices.size()) / static_cast<float>(step_samples);
  for (float& value : sum) value = value / static_cast<float>(indices.size()) * weight;
  return sum;
}

// On held-out samples; of very different sizes again.
double probe(const Numbers& weights, std::uint64_t from, std::uint64_t to) {
  double sum = 0;
  for (std::uint64_t i = from; i < to; ++i) sum += weights[i % weights.size()] * feature(i, 77);
  return sum;
}

// What was evaluated changes the state, as a schedule by the best metric does.
void heed(Numbers& momentum, double probe) { momentum[0] += static_cast<float>(0.001 * probe); }

void update(Numbers& weights, Numbers& momentum, const std::array<Numbers, 2>& sums,
            double lr_factor) {
  const auto& [exact, rounded] = sums;
  const float rate = 0.05F * static_cast<float>(lr_factor);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    momentum[i] = 0.9F * momentum[i] + exact[i] + 0.1F * rounded[i];
    weights[i] -= rate * momentum[i];
  }
}

std::uint64_t digest_of(const Numbers& weights, const Numbers& momentum) {
  std::uint64_t digest = 0;
  for (const Numbers* numbers : {&weights, &momentum}) {
    for (const float value : *numbers) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      digest = mix64(digest ^ bits);
    }
  }
  return digest;
}

std::uint64_t resized(std::uint64_t history, std::uint32_t before, std::uint32_t now) {
  return mix64(history ^ (std::uint64_t{before} << 32 | now));
}

Numbers first_weights(std::uint64_t seed) {
  Random random(seed);
  Numbers weights{};
  for (float& weight : weights) weight = static_cast<float>(random.between(-1000, 1000)) / 1000;
  return weights;
}

// The mean over all of them, in the shares of `parts`.
double probed(const Numbers& weights, std::uint32_t parts) {
  std::vector<std::optional<double>> shares;
  std::uint64_t at = 0;
  for (std::uint32_t v = 0; v < parts; ++v) {
    const std::uint64_t end = at + Toy::kHeldOut / parts + (v < Toy::kHeldOut % parts ? 1 : 0);
    shares.emplace_back(probe(weights, at, end));
    at = end;
  }
  const std::span<const std::optional<double>> all(shares);
  return *model::tree_sum<double>(all, {0, parts}) / static_cast<double>(Toy::kHeldOut);
}

}  // namespace

Result<void> Toy::initialise(std::uint64_t seed) {
  weights_ = first_weights(seed);
  momentum_ = {};
  history_ = 0;
  return {};
}

std::vector<train::StateTensor> Toy::state() {
  const auto bytes = [](Numbers& numbers) { return std::as_writable_bytes(std::span(numbers)); };
  return {{"model/weights", checkpoint::Dtype::kF32, {kNumbers}, bytes(weights_)},
          {"optimizer/weights/momentum", checkpoint::Dtype::kF32, {kNumbers}, bytes(momentum_)},
          {"user/history",
           checkpoint::Dtype::kI64,
           {1},
           std::as_writable_bytes(std::span(&history_, 1))}};
}

Result<train::PartSums> Toy::compute(const train::Part& part, const train::PartRoom& room) {
  std::vector<std::uint64_t> samples;
  for (const std::uint64_t index : part.indices) {
    const std::uint64_t sample = stream_ == nullptr ? index : stream_->identity(index);
    samples.push_back(drawn(part.seed, part.epoch.value(), sample));
  }
  const auto held = std::make_shared<Held>(gradient(weights_, samples, part.step_samples));
  const ConstBytes all = std::as_bytes(std::span(held->numbers));
  for (std::size_t i = 0; i < room.sums.size(); ++i) {
    if (room.gradients == nullptr || i >= gradient_segments()) {
      std::memcpy(room.sums[i].data(), all.data(), all.size());
      continue;
    }
    constexpr std::size_t kHalf = kNumbers / 2 * sizeof(float);
    room.gradients->take(i, kHalf,
                         {.numbers = all.subspan(kHalf), .holder = held});  // the end first
    room.gradients->taken_from(i, kHalf);
    room.gradients->take(i, 0, {all.first(kHalf)});
    room.gradients->taken_from(i, 0);
  }
  return train::PartSums{.loss = static_cast<double>(part.indices.size())};
}

Result<train::Applied> Toy::apply(const train::ReducedStep& step) {
  Numbers exact{};
  Numbers rounded{};
  std::memcpy(exact.data(), step.sums[0].data(), sizeof exact);
  if (rounds_) {
    collective::widen(collective::Element::kBf16, step.sums[1],
                      std::as_writable_bytes(std::span(rounded)));
  } else {
    std::memcpy(rounded.data(), step.sums[1].data(), sizeof rounded);
  }
  if (!step.evaluation.empty()) heed(momentum_, step.evaluation.at("probe"));
  update(weights_, momentum_, {exact, rounded}, step.lr_factor);
  if (step.members_before) history_ = resized(history_, *step.members_before, step.members);
  if (seen_) seen_(step.step, sign());
  return train::Applied{.hyper = {{"lr", 0.05 * step.lr_factor}}};
}

Result<std::vector<double>> Toy::evaluate(std::uint64_t from, std::uint64_t to) {
  return std::vector<double>{probe(weights_, from, to)};
}

Toy::Sign Toy::sign() const { return {digest_of(weights_, momentum_), history_}; }

ToyReplay::ToyReplay(const ToyJob& job) : job_(job) {
  State first{.weights = first_weights(job.seed)};
  first.sign.digest = digest_of(first.weights, first.momentum);
  states_.push_back(first);
}

// Written anew: what the program itself says of positions is not believed.
ToyReplay::Plan ToyReplay::next(std::uint64_t batch) const {
  const std::uint64_t from = here().position;
  return {here().step.next(), here().epoch.value(), from, std::min(batch, job_.samples - from)};
}

void ToyReplay::back_to(model::Step step) {
  if (step < here().step) states_.resize(step.value() + 1);
}

void ToyReplay::advance(std::uint64_t batch, double lr_factor, const model::Crowd& crowd) {
  State state = states_.back();
  const Plan plan = next(batch);
  const model::SampleOrder order(job_.samples, job_.seed, model::Epoch(plan.epoch));
  std::vector<Numbers> parts;
  std::uint64_t at = plan.from;
  for (std::uint32_t v = 0; v < job_.logical_workers; ++v) {
    const std::uint64_t more = v < plan.samples % job_.logical_workers ? 1 : 0;
    std::vector<std::uint64_t> indices;
    for (auto left = plan.samples / job_.logical_workers + more; left > 0; --left) {
      const std::uint64_t sample =
          job_.catalog == nullptr ? order.at(at) : job_.catalog->identity(at);
      indices.push_back(drawn(job_.seed, plan.epoch, sample));
      ++at;
    }
    if (!indices.empty()) parts.push_back(gradient(state.weights, indices, plan.samples));
  }
  Numbers exact{};
  Numbers rounded{};
  for (std::size_t i = 0; i < Toy::kNumbers; ++i) {
    std::vector<std::optional<float>> column;
    for (const Numbers& part : parts) column.emplace_back(part[i]);
    const auto count = static_cast<std::uint32_t>(column.size());
    exact[i] = *model::tree_sum<float>(std::span<const std::optional<float>>(column), {0, count});
    rounded[i] = exact[i];
    if (job_.rounds) rounded[i] = collective::bf16_value(collective::bf16_bits(exact[i]));
  }
  if (plan.from == 0 && plan.epoch > 0) {
    heed(state.momentum, probed(state.weights, static_cast<std::uint32_t>(parts.size())));
  }
  update(state.weights, state.momentum, {exact, rounded}, lr_factor);
  state.sign.digest = digest_of(state.weights, state.momentum);
  if (plan.step > model::Step(1) && crowd.generation != state.trained_by.generation) {
    state.sign.history = resized(state.sign.history, state.trained_by.members, crowd.members);
  }
  state.trained_by = crowd;
  state.here.step = plan.step;
  state.here.position = at == job_.samples ? 0 : at;
  if (at == job_.samples) state.here.epoch = state.here.epoch.next();
  states_.push_back(state);
}

}  // namespace edl::tests
