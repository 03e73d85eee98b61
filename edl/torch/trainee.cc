#include "edl/torch/trainee.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "edl/base/text.h"
#include "edl/torch/lars.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;

constexpr std::int64_t kClipBlock = 64 << 10;  // numbers whose squares are summed at a time

// What torch throws becomes a sentence.
template <class Call>
auto guarded(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const c10::Error& error) {
    return Error{Code::kInvalid, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return Error{Code::kInvalid, error.what()};
  }
}

// Of the generator that torch draws from by itself; nobody else draws from it at the same time.
void seed_random(std::uint64_t seed) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_current_seed(seed);
}

Tensor numbers(std::byte* memory, std::uint64_t count, ::torch::ScalarType type) {
  return ::torch::from_blob(memory, {static_cast<std::int64_t>(count)},
                            ::torch::TensorOptions().dtype(type));
}

// Reading only.
std::byte* writable(ConstBytes bytes) { return const_cast<std::byte*>(bytes.data()); }

}  // namespace

TorchTrainee::TorchTrainee(const Program& program, std::shared_ptr<const Dataset> data, Model model)
    : program_(program), data_(std::move(data)), model_(std::move(model)) {}

Result<std::unique_ptr<train::Trainee>> TorchTrainee::make(const Program& program,
                                                           std::shared_ptr<const Dataset> data) {
  at::set_num_threads(1);
  return guarded([&]() -> Result<std::unique_ptr<train::Trainee>> {
    Model model = program.model();
    if (data == nullptr || model.net == nullptr || model.optimizer == nullptr) {
      return Error{Code::kInvalid, "the program gives no data, no net or no optimizer"};
    }
    std::unique_ptr<TorchTrainee> out(new TorchTrainee(program, data, std::move(model)));
    EDL_TRY(out->lay_out());
    return std::unique_ptr<train::Trainee>(std::move(out));
  });
}

TorchTrainee::Summed& TorchTrainee::summed_of(std::vector<std::unique_ptr<Summed>>& all,
                                              ::torch::ScalarType type) {
  for (const auto& one : all) {
    if (one->flat.type() == type) return *one;
  }
  all.push_back(std::make_unique<Summed>(type));
  return *all.back();
}

Result<void> TorchTrainee::add(Role role, const std::string& name, const Tensor& tensor) {
  const ::torch::ScalarType type = tensor.scalar_type();
  const bool is_count = role == Role::kBuffer && type == ::torch::kInt64;
  if (!is_count && (!number_type(type) || type == ::torch::kInt64)) {
    return Error{Code::kInvalid, text(name, ": a tensor of ", c10::toString(type),
                                      " cannot be trained; float32 and float64 can")};
  }
  auto& all = role == Role::kParameter ? parameters_ : buffers_;
  Summed& summed = summed_of(all, type);
  summed.flat.add(text("model/", name), tensor.sizes());
  summed.tensors.push_back(tensor);
  summed.flags.push_back(flag_count_++);
  return {};
}

Result<void> TorchTrainee::lay_out() {
  std::vector<NamedParameter> named;
  for (const auto& item : model_.net->named_parameters()) {
    const bool is_known = std::any_of(named.begin(), named.end(), [&](const NamedParameter& one) {
      return one.tensor.is_same(item.value());
    });
    if (is_known) tied_.emplace_back(item.key(), item.value());
    if (is_known || !item.value().defined()) continue;  // it is trained under its first name
    named.push_back({item.key(), item.value()});
    EDL_TRY(add(Role::kParameter, item.key(), item.value()));
  }
  if (named.empty()) return Error{Code::kInvalid, "the net has no parameters to train"};
  for (const auto& item : model_.net->named_buffers()) {
    if (item.value().defined()) EDL_TRY(add(Role::kBuffer, item.key(), item.value()));
  }
  ::torch::NoGradGuard no_grad;
  for (const auto& summed : parameters_) {
    summed->flat.allocate();
    for (std::size_t i = 0; i < summed->tensors.size(); ++i) {
      Tensor place = summed->flat.tensors()[i].tensor;
      place.copy_(summed->tensors[i]);
      summed->tensors[i].set_data(place);
    }
    scratch_.emplace_back();
  }
  for (const auto& summed : buffers_) {
    summed->flat.allocate();
    for (std::size_t i = 0; i < summed->tensors.size(); ++i) {
      summed->flat.tensors()[i].tensor.copy_(summed->tensors[i]);
    }
  }
  touched_.assign(flag_count_, 0);
  for (auto& group : model_.optimizer->param_groups()) {
    base_rates_.push_back(group.options().get_lr());
  }
  EDL_TRY(optimizer_state_, OptimizerState::make(*model_.optimizer, named));
  watch_gradients();
  return {};
}

// Which parameters a loss depends on is known only when its gradients come.
void TorchTrainee::watch_gradients() {
  for (const auto& summed : parameters_) {
    for (std::size_t i = 0; i < summed->tensors.size(); ++i) {
      Tensor& parameter = summed->tensors[i];
      if (!parameter.requires_grad()) continue;
      const std::string& name = summed->flat.tensors()[i].name;
      parameter.register_hook([this, &name, flag = summed->flags[i]](Tensor gradient) {
        touched_[flag] = 1;
        if (gradient.is_sparse()) {
          complaint_ = text("the gradient of ", name,
                            " is sparse, which cannot be summed; use a dense one (sparse(false))");
        }
      });
    }
  }
}

std::vector<collective::Segment> TorchTrainee::segments() const {
  std::vector<collective::Segment> out;
  for (const auto* all : {&parameters_, &buffers_}) {
    for (const auto& summed : *all) {
      out.push_back({number_type(summed->flat.type()).value().element, summed->flat.count()});
    }
  }
  out.push_back({collective::Element::kI64, flag_count_});
  return out;
}

Result<void> TorchTrainee::initialise(std::uint64_t seed) {
  return guarded([&]() -> Result<void> {
    seed_random(seed);
    const Model fresh = program_.model();
    ::torch::NoGradGuard no_grad;
    const auto values = fresh.net->named_parameters();
    const auto counts = fresh.net->named_buffers();
    for (const auto* all : {&parameters_, &buffers_}) {
      for (const auto& summed : *all) {
        for (FlatTensor& place : summed->flat.tensors()) {
          const std::string name = place.name.substr(std::string_view("model/").size());
          const Tensor* value = values.find(name);
          if (value == nullptr) value = counts.find(name);
          if (value == nullptr || value->sizes() != place.tensor.sizes()) {
            return Error{Code::kInvalid, text("the model is made with another ", name,
                                              " each time; it must have the same shape always")};
          }
          place.tensor.copy_(*value);
        }
      }
    }
    optimizer_state_->clear();
    return {};
  });
}

std::vector<train::StateTensor> TorchTrainee::state() {
  std::vector<train::StateTensor> out;
  for (const auto* all : {&parameters_, &buffers_}) {
    for (const auto& summed : *all) summed->flat.append_to(out);
  }
  for (const auto& [name, tensor] : tied_) {
    out.push_back({text("model/", name),
                   number_type(tensor.scalar_type()).value().dtype,
                   tensor.sizes().vec(),
                   {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  }
  optimizer_state_->append_to(out);
  return out;
}

void TorchTrainee::begin_buffers() {
  ::torch::NoGradGuard no_grad;
  for (const auto& summed : buffers_) {
    for (std::size_t i = 0; i < summed->tensors.size(); ++i) {
      summed->tensors[i].copy_(summed->flat.tensors()[i].tensor);
    }
  }
}

// Buffers of floating point count with the part's share of the samples, integers are those of
// logical worker 0.
void TorchTrainee::end_buffers(const train::Part& part, std::span<const ByteSpan> sums) {
  ::torch::NoGradGuard no_grad;
  const float share =
      static_cast<float>(part.indices.size()) / static_cast<float>(part.step_samples);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    Summed& summed = *buffers_[b];
    std::byte* const memory = sums[parameters_.size() + b].data();
    std::memset(memory, 0, summed.flat.bytes());
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      const Tensor& now = summed.tensors[i];
      if (!now.equal(summed.flat.tensors()[i].tensor)) touched_[summed.flags[i]] = 1;
      Tensor into = summed.flat.at(i, memory);
      if (summed.flat.type() != ::torch::kInt64) {
        into.copy_(now).mul_(share);
      } else if (part.v.value() == 0) {
        into.copy_(now);
      }
    }
  }
  std::memcpy(sums[flags_segment()].data(), touched_.data(), flag_count_ * sizeof(std::int64_t));
}

void TorchTrainee::gradient_into(std::span<std::byte* const> memory) {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    Summed& summed = *parameters_[p];
    std::memset(memory[p], 0, summed.flat.bytes());
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      summed.tensors[i].mutable_grad() = summed.flat.at(i, memory[p]);
    }
  }
}

Result<double> TorchTrainee::backward(const Batch& batch) {
  const Tensor loss = program_.forward(*model_.net, batch);
  if (!loss.defined() || loss.numel() != 1 || !loss.requires_grad()) {
    return Error{Code::kInvalid,
                 "forward must return the mean loss: one number that depends on the parameters"};
  }
  loss.backward();
  if (!complaint_.empty()) return Error{Code::kInvalid, complaint_};
  return loss.item<double>();
}

// Each micro batch's gradient is weighted by its share of the step, and they are added in order.
Result<train::PartSums> TorchTrainee::compute(const train::Part& part,
                                              std::span<const ByteSpan> sums) {
  return guarded([&]() -> Result<train::PartSums> {
    model_.net->train();
    seed_random(part.random_seed);
    std::ranges::fill(touched_, 0);
    begin_buffers();
    train::PartSums out;
    const std::span<const std::uint64_t> samples(part.indices);
    const Draw draw{.seed = part.seed, .epoch = part.epoch.value()};
    for (std::size_t at = 0; at < samples.size(); at += part.micro) {
      const auto micro =
          samples.subspan(at, std::min<std::size_t>(part.micro, samples.size() - at));
      std::vector<std::byte*> memory;
      for (std::size_t p = 0; p < parameters_.size(); ++p) {
        if (at > 0) scratch_[p].resize(parameters_[p]->flat.bytes());
        memory.push_back(at == 0 ? sums[p].data() : scratch_[p].data());
      }
      gradient_into(memory);
      EDL_TRY(const double loss, backward(data_->batch(micro, draw)));
      out.loss += loss * static_cast<double>(micro.size());
      const float share = static_cast<float>(micro.size()) / static_cast<float>(part.step_samples);
      ::torch::NoGradGuard no_grad;
      for (std::size_t p = 0; p < parameters_.size(); ++p) {
        const Flat& flat = parameters_[p]->flat;
        Tensor gradient = numbers(memory[p], flat.count(), flat.type());
        gradient.mul_(share);
        if (at > 0) numbers(sums[p].data(), flat.count(), flat.type()).add_(gradient);
      }
    }
    end_buffers(part, sums);
    out.found_inf = !std::isfinite(out.loss);
    return out;
  });
}

// The factor that brings the gradient to the wanted length; squares are summed in fixed blocks, so
// that the bits do not depend on the tensors.
double TorchTrainee::clip(std::span<const ConstBytes> sums) {
  if (!program_.clip_norm) return 1;
  double squares = 0;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Flat& flat = parameters_[p]->flat;
    const Tensor all = numbers(writable(sums[p]), flat.count(), flat.type());
    for (const Tensor& block : all.split(kClipBlock)) {
      squares += block.to(::torch::kFloat64).square().sum().item<double>();
    }
  }
  const double norm = std::sqrt(squares);
  return norm > *program_.clip_norm ? *program_.clip_norm / norm : 1;
}

Result<train::Applied> TorchTrainee::apply(const train::ReducedStep& step) {
  return guarded([&]() -> Result<train::Applied> {
    const double rate_factor = step.lr_factor * scheduled(step);
    train::Applied applied{.applied = !step.found_inf,
                           .hyper = {{"lr", base_rates_.front() * rate_factor}}};
    if (step.found_inf) return applied;
    ::torch::NoGradGuard no_grad;
    const auto* flags = reinterpret_cast<const std::int64_t*>(step.sums[flags_segment()].data());
    const double factor = clip(step.sums);
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      Summed& summed = *parameters_[p];
      std::byte* memory = writable(step.sums[p]);
      if (factor != 1) {
        scratch_[p].resize(summed.flat.bytes());
        const auto count = summed.flat.count();
        numbers(scratch_[p].data(), count, summed.flat.type())
            .copy_(numbers(memory, count, summed.flat.type()))
            .mul_(factor);
        memory = scratch_[p].data();
      }
      for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
        // A parameter that no part's loss depends on is left alone, as in a plain loop.
        const bool is_used = flags[summed.flags[i]] > 0;
        summed.tensors[i].mutable_grad() = is_used ? summed.flat.at(i, memory) : Tensor();
      }
    }
    auto& groups = model_.optimizer->param_groups();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      groups[i].options().set_lr(base_rates_[i] * rate_factor);
    }
    if (step.lr_rule == model::RateRule::kLars) {
      EDL_TRY(lars_step(*model_.optimizer));
    } else {
      model_.optimizer->step();
    }
    optimizer_state_->take();
    take_buffers(step.sums, flags);
    return applied;
  });
}

double TorchTrainee::scheduled(const train::ReducedStep& step) const {
  if (!program_.schedule) return 1;
  return program_.schedule(
      {.step = step.step.value(), .epoch = step.epoch.value(), .samples = step.seen});
}

// A buffer that no part changed keeps its bytes.
void TorchTrainee::take_buffers(std::span<const ConstBytes> sums, const std::int64_t* flags) {
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    Summed& summed = *buffers_[b];
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      if (flags[summed.flags[i]] == 0) continue;
      const FlatTensor& place = summed.flat.tensors()[i];
      std::memcpy(summed.flat.memory().data() + place.offset,
                  sums[parameters_.size() + b].data() + place.offset, place.bytes);
    }
  }
}

model::NamedNumbers TorchTrainee::evaluate() {
  if (!program_.evaluate) return {};
  begin_buffers();
  model_.net->eval();
  ::torch::NoGradGuard no_grad;
  model::NamedNumbers out;
  for (const auto& [name, value] : program_.evaluate(*model_.net)) out[name] = value;
  model_.net->train();
  return out;
}

}  // namespace edl::torch
