#include "edl/torch/trainee.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "edl/base/text.h"
#include "edl/torch/batch_renorm.h"
#include "edl/torch/guarded.h"
#include "edl/torch/mixed_precision.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;

train::StateTensor in_place(const std::string& name, const Tensor& tensor) {
  return {name,
          number_type(tensor.scalar_type()).value().dtype,
          tensor.sizes().vec(),
          {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()}};
}

}  // namespace

Tensor TorchTrainee::numbers(std::byte* memory, std::uint64_t count, ::torch::ScalarType type) {
  return ::torch::from_blob(memory, {static_cast<std::int64_t>(count)},
                            ::torch::TensorOptions().dtype(type));
}

TorchTrainee::TorchTrainee(const Program& program, Data data, Model model)
    : program_(program),
      data_(std::move(data.training)),
      test_(std::move(data.test)),
      loader_(data_, data.threads),
      model_(std::move(model)) {
  if (program_.loss_scale) scaler_.emplace(*program_.loss_scale);
}

model::SampleCount TorchTrainee::samples() const {
  return data_->stream() == nullptr ? data_->size() : model::SampleCount::unknown();
}

Result<std::unique_ptr<train::Trainee>> TorchTrainee::make(const Program& program,
                                                           std::shared_ptr<const Dataset> data,
                                                           std::shared_ptr<const Dataset> test) {
  at::set_num_threads(1);
  return guarded([&]() -> Result<std::unique_ptr<train::Trainee>> {
    Model model = program.model();
    if (data == nullptr || model.net == nullptr || model.optimizer == nullptr) {
      return Error{Code::kInvalid, "the program gives no data, no net or no optimizer"};
    }
    if (program.test_batch == 0) {
      return Error{Code::kInvalid, "the program's test_batch is 0; it must be at least 1"};
    }
    if (test != nullptr && test->stream() != nullptr) {
      return Error{Code::kInvalid, "held-out data cannot be a stream: give it as known files"};
    }
    EDL_TRY(const std::uint32_t threads, data_threads(*data, program.data_threads));
    std::unique_ptr<TorchTrainee> out(
        new TorchTrainee(program, {data, test, threads}, std::move(model)));
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
    auto& gradients = gradients_.emplace_back();
    gradients.element = number_type(summed->flat.type()).value().element;
    gradients.bytes = summed->flat.bytes();
    for (std::size_t i = 0; i < summed->tensors.size(); ++i) {
      const FlatTensor& place = summed->flat.tensors()[i];
      gradients.places.push_back({place.offset, place.bytes, summed->flags[i]});
    }
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
  EDL_TRY(register_user_state());
  watch_gradients();
  return {};
}

Result<void> TorchTrainee::register_user_state() {
  for (auto& [name, tensor] : model_.user) {
    if (!tensor.defined() || !number_type(tensor.scalar_type())) {
      return Error{Code::kInvalid, text("the registered state ", name,
                                        " must be a tensor of float32, float64 or int64")};
    }
    tensor = tensor.detach().contiguous().clone();  // not what is state already
    user_[name] = tensor;
  }
  return {};
}

// Which parameters a loss depends on is known only when its gradients come.
void TorchTrainee::watch_gradients() {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (std::size_t i = 0; i < parameters_[p]->tensors.size(); ++i) {
      const Tensor& parameter = parameters_[p]->tensors[i];
      if (!parameter.requires_grad()) continue;
      watch_.add(parameter);
      watched_.emplace_back(p, i);
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
    if (scaler_) scaler_->reset();
    for (auto& [name, tensor] : user_) {
      const auto value = fresh.user.find(name);
      if (value == fresh.user.end() || value->second.sizes() != tensor.sizes()) {
        return Error{Code::kInvalid, text("the model is made with another registered state ", name,
                                          " each time; it must have the same shape always")};
      }
      tensor.copy_(value->second);
    }
    return {};
  });
}

std::vector<train::StateTensor> TorchTrainee::state() {
  std::vector<train::StateTensor> out;
  for (const auto* all : {&parameters_, &buffers_}) {
    for (const auto& summed : *all) summed->flat.append_to(out);
  }
  for (const auto& [name, tensor] : tied_) out.push_back(in_place(text("model/", name), tensor));
  optimizer_state_->append_to(out);
  for (const auto& [name, tensor] : user_) out.push_back(in_place(text("user/", name), tensor));
  if (scaler_) out.push_back(in_place("user/edl.loss_scale", scaler_->numbers()));
  return out;
}

bool TorchTrainee::takes_one_sample() const {
  const auto modules = model_.net->modules();
  return std::none_of(modules.begin(), modules.end(), [](const auto& module) {
    return module->template as<::torch::nn::BatchNorm1d>() ||
           module->template as<::torch::nn::BatchNorm2d>() ||
           module->template as<::torch::nn::BatchNorm3d>() || module->template as<RenormModule>();
  });
}

}  // namespace edl::torch
