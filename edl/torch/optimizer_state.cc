#include "edl/torch/optimizer_state.h"

#include <algorithm>
#include <map>

#include "edl/base/text.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;
using ParamState = ::torch::optim::OptimizerParamState;

// The key under which torch finds the state of a parameter: a text in older versions.
template <class Map>
typename Map::key_type key_of(const Map&, const Tensor& parameter) {
  if constexpr (std::is_same_v<typename Map::key_type, std::string>) {
    return c10::guts::to_string(parameter.unsafeGetTensorImpl());
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

}  // namespace

struct OptimizerState::Kind {
  virtual ~Kind() = default;
  virtual std::vector<std::string> slots() const = 0;
  virtual std::unique_ptr<ParamState> make_state() const = 0;
  virtual std::vector<Tensor> tensors(const ParamState& state) const = 0;
  virtual void set(ParamState& state, const std::vector<Tensor>& tensors,
                   std::int64_t count) const = 0;
  virtual std::int64_t count(const ParamState&) const { return 1; }
  // Its state is there before the first step.
  virtual bool is_made_at_once() const { return false; }
};

namespace {

struct SgdKind final : OptimizerState::Kind {
  using State = ::torch::optim::SGDParamState;
  explicit SgdKind(const ::torch::optim::SGDOptions& options) : momentum(options.momentum() != 0) {}
  std::vector<std::string> slots() const override {
    return momentum ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{};
  }
  std::unique_ptr<ParamState> make_state() const override { return std::make_unique<State>(); }
  std::vector<Tensor> tensors(const ParamState& state) const override {
    if (!momentum) return {};
    return {static_cast<const State&>(state).momentum_buffer()};
  }
  void set(ParamState& state, const std::vector<Tensor>& tensors, std::int64_t) const override {
    if (momentum) static_cast<State&>(state).momentum_buffer(tensors[0]);
  }
  const bool momentum;
};

// Adam and AdamW keep the same.
template <class State, class Options>
struct AdamKind final : OptimizerState::Kind {
  explicit AdamKind(const Options& options) : amsgrad(options.amsgrad()) {}
  std::vector<std::string> slots() const override {
    std::vector<std::string> names{"exp_avg", "exp_avg_sq"};
    if (amsgrad) names.emplace_back("max_exp_avg_sq");
    return names;
  }
  std::unique_ptr<ParamState> make_state() const override { return std::make_unique<State>(); }
  std::vector<Tensor> tensors(const ParamState& state) const override {
    const auto& known = static_cast<const State&>(state);
    std::vector<Tensor> all{known.exp_avg(), known.exp_avg_sq()};
    if (amsgrad) all.push_back(known.max_exp_avg_sq());
    return all;
  }
  void set(ParamState& state, const std::vector<Tensor>& tensors,
           std::int64_t count) const override {
    auto& known = static_cast<State&>(state);
    known.exp_avg(tensors[0]);
    known.exp_avg_sq(tensors[1]);
    if (amsgrad) known.max_exp_avg_sq(tensors[2]);
    known.step(count);
  }
  std::int64_t count(const ParamState& state) const override {
    return static_cast<const State&>(state).step();
  }
  const bool amsgrad;
};

struct RmspropKind final : OptimizerState::Kind {
  using State = ::torch::optim::RMSpropParamState;
  explicit RmspropKind(const ::torch::optim::RMSpropOptions& options)
      : momentum(options.momentum() > 0), centered(options.centered()) {}
  std::vector<std::string> slots() const override {
    std::vector<std::string> names{"square_avg"};
    if (momentum) names.emplace_back("momentum_buffer");
    if (centered) names.emplace_back("grad_avg");
    return names;
  }
  std::unique_ptr<ParamState> make_state() const override { return std::make_unique<State>(); }
  std::vector<Tensor> tensors(const ParamState& state) const override {
    const auto& known = static_cast<const State&>(state);
    std::vector<Tensor> all{known.square_avg()};
    if (momentum) all.push_back(known.momentum_buffer());
    if (centered) all.push_back(known.grad_avg());
    return all;
  }
  void set(ParamState& state, const std::vector<Tensor>& tensors,
           std::int64_t count) const override {
    auto& known = static_cast<State&>(state);
    std::size_t next = 0;
    known.square_avg(tensors[next++]);
    if (momentum) known.momentum_buffer(tensors[next++]);
    if (centered) known.grad_avg(tensors[next++]);
    known.step(count);
  }
  std::int64_t count(const ParamState& state) const override {
    return static_cast<const State&>(state).step();
  }
  const bool momentum;
  const bool centered;
};

struct AdagradKind final : OptimizerState::Kind {
  using State = ::torch::optim::AdagradParamState;
  std::vector<std::string> slots() const override { return {"sum"}; }
  std::unique_ptr<ParamState> make_state() const override { return std::make_unique<State>(); }
  std::vector<Tensor> tensors(const ParamState& state) const override {
    return {static_cast<const State&>(state).sum()};
  }
  void set(ParamState& state, const std::vector<Tensor>& tensors,
           std::int64_t count) const override {
    static_cast<State&>(state).sum(tensors[0]);
    static_cast<State&>(state).step(count);
  }
  std::int64_t count(const ParamState& state) const override {
    return static_cast<const State&>(state).step();
  }
  bool is_made_at_once() const override { return true; }
};

// Nothing for a kind that is not known.
std::unique_ptr<OptimizerState::Kind> kind_of(const ::torch::optim::Optimizer& optimizer) {
  namespace optim = ::torch::optim;
  const optim::OptimizerOptions& options = optimizer.defaults();
  if (const auto* sgd = dynamic_cast<const optim::SGDOptions*>(&options)) {
    return std::make_unique<SgdKind>(*sgd);
  }
  if (const auto* adam = dynamic_cast<const optim::AdamOptions*>(&options)) {
    return std::make_unique<AdamKind<optim::AdamParamState, optim::AdamOptions>>(*adam);
  }
  if (const auto* adamw = dynamic_cast<const optim::AdamWOptions*>(&options)) {
    return std::make_unique<AdamKind<optim::AdamWParamState, optim::AdamWOptions>>(*adamw);
  }
  if (const auto* rmsprop = dynamic_cast<const optim::RMSpropOptions*>(&options)) {
    return std::make_unique<RmspropKind>(*rmsprop);
  }
  if (dynamic_cast<const optim::AdagradOptions*>(&options) != nullptr) {
    return std::make_unique<AdagradKind>();
  }
  return nullptr;
}

}  // namespace

OptimizerState::OptimizerState(::torch::optim::Optimizer& optimizer, std::unique_ptr<Kind> kind)
    : optimizer_(optimizer), kind_(std::move(kind)) {}
OptimizerState::~OptimizerState() = default;

Result<std::unique_ptr<OptimizerState>> OptimizerState::make(
    ::torch::optim::Optimizer& optimizer, const std::vector<NamedParameter>& all) {
  std::unique_ptr<Kind> kind = kind_of(optimizer);
  if (kind == nullptr) {
    return Error{Code::kInvalid,
                 "this optimizer is not known; SGD, Adam, AdamW, RMSprop and Adagrad are"};
  }
  std::unique_ptr<OptimizerState> out(new OptimizerState(optimizer, std::move(kind)));
  for (const auto& group : optimizer.param_groups()) {
    for (const Tensor& parameter : group.params()) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const NamedParameter& one) {
        return one.tensor.is_same(parameter);
      });
      if (found == all.end()) {
        return Error{Code::kInvalid,
                     "the optimizer has a parameter that is none of the model's; give it those of "
                     "the same model"};
      }
      out->entries_.push_back({*found});
    }
  }
  out->lay_out();
  return out;
}

void OptimizerState::lay_out() {
  const std::vector<std::string> slots = kind_->slots();
  std::map<::torch::ScalarType, Flat*> by_type;
  const auto flat_of = [&](const Entry& entry) {
    Flat*& flat = by_type[entry.parameter.tensor.scalar_type()];
    if (flat == nullptr) {
      flats_.push_back(std::make_unique<Flat>(entry.parameter.tensor.scalar_type()));
      flat = flats_.back().get();
    }
    return flat;
  };
  for (const Entry& entry : entries_) {
    for (const std::string& slot : slots) {
      flat_of(entry)->add(text("optimizer/", entry.parameter.name, "/", slot),
                          entry.parameter.tensor.sizes());
    }
  }
  std::map<Flat*, std::size_t> next;
  for (const auto& flat : flats_) flat->allocate();
  for (Entry& entry : entries_) {
    Flat* const flat = flat_of(entry);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      entry.tensors.push_back(flat->tensors()[next[flat]++].tensor);
    }
  }
  counts_.assign(entries_.size(), 0);
  take();
}

void OptimizerState::append_to(std::vector<train::StateTensor>& state) {
  for (const auto& flat : flats_) flat->append_to(state);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    state.push_back({text("optimizer/", entries_[i].parameter.name, "/step"),
                     checkpoint::Dtype::kI64,
                     {},
                     std::as_writable_bytes(std::span(&counts_[i], 1))});
  }
}

void OptimizerState::take() {
  ::torch::NoGradGuard no_grad;
  auto& states = optimizer_.state();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const auto found = states.find(key_of(states, entry.parameter.tensor));
    if (found == states.end()) continue;
    counts_[i] = kind_->count(*found->second);
    const std::vector<Tensor> made = kind_->tensors(*found->second);
    bool is_ours = true;
    for (std::size_t slot = 0; slot < made.size(); ++slot) {
      if (!made[slot].defined() || made[slot].data_ptr() == entry.tensors[slot].data_ptr())
        continue;
      entry.tensors[slot].copy_(made[slot]);
      is_ours = false;
    }
    if (!is_ours) kind_->set(*found->second, entry.tensors, counts_[i]);
  }
}

void OptimizerState::loaded() {
  auto& states = optimizer_.state();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto key = key_of(states, entries_[i].parameter.tensor);
    if (counts_[i] == 0 && !kind_->is_made_at_once()) {
      states.erase(key);
      continue;
    }
    auto& state = states[key];
    if (state == nullptr) state = kind_->make_state();
    kind_->set(*state, entries_[i].tensors, counts_[i]);
  }
}

void OptimizerState::clear() {
  if (!kind_->is_made_at_once()) {
    for (const auto& flat : flats_) std::ranges::fill(flat->memory(), std::byte{0});
  }
  std::ranges::fill(counts_, 0);
  loaded();
}

}  // namespace edl::torch
