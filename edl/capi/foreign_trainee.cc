#include "edl/capi/foreign_trainee.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "edl/base/text.h"
#include "edl/capi/foreign_tensor.h"
#include "edl/capi/handles.h"

namespace edl::capi {
namespace {

edl_part plain(const train::Part& part) {
  return {.step = part.step.value(),
          .epoch = part.epoch.value(),
          .logical_worker = part.v.value(),
          .step_samples = part.step_samples,
          .micro_batch = part.micro,
          .seed = part.seed,
          .random_seed = part.random_seed,
          .samples = part.indices.size(),
          .indices = part.indices.data()};
}

// A gradient that the program has given away.
class Given final : public train::GradientHolder {
 public:
  Given(DLManagedTensor* tensor, bool is_own) : tensor_(tensor), is_own_(is_own) {}
  ~Given() override {
    if (tensor_->deleter != nullptr) tensor_->deleter(tensor_);
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  // Two gradients may share memory, which only the program can see.
  bool is_alone() const override { return is_own_; }

 private:
  DLManagedTensor* const tensor_;
  const bool is_own_;
};

std::string& failure() {
  thread_local std::string sentence;
  return sentence;
}

}  // namespace

void set_failure(const char* sentence) { failure() = sentence == nullptr ? "" : sentence; }
std::string take_failure() { return std::exchange(failure(), {}); }

Result<Description> parse_description(std::string_view words) {
  EDL_TRY(Json json, parse_json(words));
  Description out;
  JsonReader in(json, "description");
  model::read_samples(in, out.samples);
  in.read_optional("metrics", out.metrics);
  in.read_optional("evaluation", out.evaluation);
  in.read_optional("held_out", out.held_out);
  in.read_optional("takes_one_sample", out.takes_one_sample);
  in.read_optional("rehearses", out.rehearses);
  EDL_TRY(in.finish());
  for (const char* ours : {"metrics", "evaluation", "held_out", "rehearses"}) json.erase(ours);
  out.facts = std::move(json);
  return out;
}

ForeignTrainee::ForeignTrainee(const edl_calls& calls, void* context, Description description)
    : calls_(calls), context_(context), description_(std::move(description)) {}

ForeignTrainee::Summed& ForeignTrainee::summed_of(std::vector<Summed>& all,
                                                  collective::Element element) {
  for (Summed& one : all) {
    if (one.gradients.element == element) return one;
  }
  all.emplace_back().gradients.element = element;
  return all.back();
}

Result<void> ForeignTrainee::add(edl_kind kind, const std::string& name, const DLTensor& tensor) {
  if (name.empty()) return Error{Code::kInvalid, "a tensor without a name"};
  if (kind != EDL_PARAMETER && kind != EDL_BUFFER && kind != EDL_STATE) {
    return Error{Code::kInvalid,
                 text("a tensor of kind ", static_cast<int>(kind), "; 1 to 3 are possible")};
  }
  EDL_TRY(train::StateTensor read,
          read_tensor(kind == EDL_STATE ? name : text("model/", name), tensor));
  if (kind == EDL_STATE) {
    others_.push_back(std::move(read));
    return {};
  }
  const auto element = element_of(read.dtype);
  const bool is_summed = element && (kind == EDL_BUFFER || *element != collective::Element::kI64);
  if (!is_summed) {
    return Error{Code::kInvalid, text(name, ": a tensor of ", checkpoint::dtype_name(read.dtype),
                                      " cannot be trained; float32 and float64 can")};
  }
  auto& all = kind == EDL_PARAMETER ? parameters_ : buffers_;
  Summed& summed = summed_of(all, *element);
  if (kind == EDL_PARAMETER) {
    order_.emplace_back(static_cast<std::size_t>(&summed - all.data()), summed.tensors.size());
  }
  summed.gradients.places.push_back({summed.gradients.bytes, read.bytes.size(), flag_count_++});
  summed.gradients.bytes += collective::aligned(read.bytes.size());
  if (kind == EDL_BUFFER) {
    summed.shared.emplace_back(read.bytes.begin(), read.bytes.end());
  }
  summed.tensors.push_back(std::move(read));
  return {};
}

Result<void> ForeignTrainee::lay_out() {
  if (order_.empty()) return Error{Code::kInvalid, "the program has no parameters to train"};
  for (const Summed& summed : parameters_) gradients_.push_back(summed.gradients);
  touched_.assign(flag_count_, 0);
  return {};
}

std::vector<collective::Segment> ForeignTrainee::segments() const {
  std::vector<collective::Segment> out;
  for (const auto* all : {&parameters_, &buffers_}) {
    for (const Summed& summed : *all) {
      const collective::Element element = summed.gradients.element;
      out.push_back({element, summed.gradients.bytes / collective::element_bytes(element)});
    }
  }
  out.push_back({collective::Element::kI64, flag_count_});
  return out;
}

Result<void> ForeignTrainee::called(int code, std::string_view what) {
  const std::string said = take_failure();
  if (code == 0) return {};
  if (!said.empty()) return Error{Code::kInvalid, said};
  return Error{Code::kInvalid, text("the program's ", what, " failed and did not say why")};
}

Result<void> ForeignTrainee::initialise(std::uint64_t seed) {
  EDL_TRY(called(calls_.initialise(context_, seed), "initialise"));
  for (Summed& summed : buffers_) {
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      std::ranges::copy(summed.tensors[i].bytes, summed.shared[i].begin());
    }
  }
  return {};
}

// Buffers are in the state as the members share them, not as a forward pass left them.
std::vector<train::StateTensor> ForeignTrainee::state() {
  std::vector<train::StateTensor> out;
  for (const Summed& summed : parameters_) {
    out.insert(out.end(), summed.tensors.begin(), summed.tensors.end());
  }
  for (Summed& summed : buffers_) {
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      out.push_back(summed.tensors[i]);
      out.back().bytes = summed.shared[i];
    }
  }
  out.insert(out.end(), others_.begin(), others_.end());
  return out;
}

// Nobody can be told now; the next part is.
void ForeignTrainee::loaded() {
  begin_buffers();
  load_failure_.reset();
  const Result<void> done = called(calls_.loaded(context_), "loaded");
  if (!done.ok()) load_failure_ = done.error();
}

void ForeignTrainee::upcoming(const train::Part& part) {
  if (calls_.upcoming == nullptr) return;
  const edl_part hint = plain(part);
  calls_.upcoming(context_, &hint);
}

void ForeignTrainee::begin_buffers() {
  for (Summed& summed : buffers_) {
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      std::ranges::copy(summed.shared[i], summed.tensors[i].bytes.begin());
    }
  }
}

// Buffers of floating point count with the part's share of the samples, integers are those of
// logical worker 0.
void ForeignTrainee::end_buffers(const train::Part& part, std::span<const ByteSpan> sums) {
  const float share =
      static_cast<float>(part.indices.size()) / static_cast<float>(part.step_samples);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    const Summed& summed = buffers_[b];
    const ByteSpan memory = sums[parameters_.size() + b];
    std::ranges::fill(memory, std::byte{0});
    const bool is_integer = summed.gradients.element == collective::Element::kI64;
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      const train::GradientPlace& place = summed.gradients.places[i];
      const ConstBytes now = summed.tensors[i].bytes;
      if (!std::ranges::equal(now, summed.shared[i])) touched_[place.flag] = 1;
      const ByteSpan into = memory.subspan(place.offset, place.bytes);
      if (!is_integer) {
        collective::fold(summed.gradients.element, {.one = {now.data(), share}}, into);
      } else if (part.v.value() == 0) {
        std::ranges::copy(now, into.begin());
      }
    }
  }
  std::memcpy(sums[flags_segment()].data(), touched_.data(), flag_count_ * sizeof(std::int64_t));
}

Result<train::PartSums> ForeignTrainee::compute(const train::Part& part,
                                                const train::PartRoom& room) {
  if (load_failure_) return *load_failure_;
  std::ranges::fill(touched_, 0);
  begin_buffers();
  facts_.computing(part);
  train::PartSums out;
  out.metrics.resize(description_.metrics.size());
  const edl_part told = plain(part);
  edl_measured measured{.loss = 0, .metrics = out.metrics.data(), .found_inf = 0};
  edl_computing computing{train::PartGradients(gradients_, touched_, part, room), *this};
  EDL_TRY(called(calls_.compute(context_, &computing, &told, &measured), "compute"));
  computing.gradients.finish();
  end_buffers(part, room.sums);
  out.loss = measured.loss;
  out.found_inf = measured.found_inf != 0 || !std::isfinite(measured.loss);
  return out;
}

Result<void> ForeignTrainee::take(train::PartGradients& gradients, ForeignGradient gradient) const {
  if (gradient.parameter >= order_.size()) {
    return Error{Code::kInvalid,
                 text("there is no parameter ", gradient.parameter, "; there are ", order_.size())};
  }
  const auto [segment, i] = order_[gradient.parameter];
  gradients.begin_micro_batch(gradient.samples);
  gradients.take(segment, i,
                 {.numbers = {static_cast<const std::byte*>(gradient.numbers),
                              gradients_[segment].places[i].bytes},
                  .holder = std::move(gradient.holder)});
  return {};
}

Result<void> ForeignTrainee::take_given(train::PartGradients& gradients, std::uint32_t parameter,
                                        DLManagedTensor* tensor, bool is_own,
                                        std::uint64_t samples) const {
  auto holder = std::make_shared<Given>(tensor, is_own);
  EDL_TRY(const train::StateTensor read, read_tensor("a gradient", tensor->dl_tensor));
  if (parameter < order_.size()) {
    const auto [segment, i] = order_[parameter];
    const train::StateTensor& trained = parameters_[segment].tensors[i];
    if (read.dtype != trained.dtype || read.bytes.size() != trained.bytes.size()) {
      return Error{Code::kInvalid, text("the gradient of ", trained.name, " has another type or ",
                                        "number of numbers than it")};
    }
  }
  return take(gradients, {parameter, read.bytes.data(), samples, std::move(holder)});
}

// Also behind one that cannot be taken: what is given has to be freed.
Result<void> ForeignTrainee::take_all(train::PartGradients& gradients, const ForeignGradients& all,
                                      std::uint64_t samples) const {
  Result<void> out;
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    Result<void> taken;
    if (all.given[i] != nullptr) {
      taken = take_given(gradients, i, all.given[i], all.is_own[i] != 0, samples);
    } else if (all.numbers[i] != nullptr) {
      taken = take(gradients, {i, all.numbers[i], samples, nullptr});
    }
    if (out.ok()) out = std::move(taken);
  }
  return out;
}

// A buffer that no part changed keeps its bytes.
void ForeignTrainee::take_buffers(std::span<const ConstBytes> sums, const std::int64_t* flags) {
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    Summed& summed = buffers_[b];
    summed.before = summed.shared;
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      const train::GradientPlace& place = summed.gradients.places[i];
      if (flags[place.flag] == 0) continue;
      std::ranges::copy(sums[parameters_.size() + b].subspan(place.offset, place.bytes),
                        summed.shared[i].begin());
    }
  }
  begin_buffers();
}

void ForeignTrainee::put_buffers_back() {
  for (Summed& summed : buffers_) {
    for (std::size_t i = 0; i < summed.shared.size(); ++i) {
      std::ranges::copy(summed.before[i], summed.shared[i].begin());
    }
  }
  begin_buffers();
}

// The program's hooks see the state after the step, buffers and all.
Result<train::Applied> ForeignTrainee::apply(const train::ReducedStep& step) {
  if (load_failure_) return *load_failure_;
  const auto* flags = reinterpret_cast<const std::int64_t*>(step.sums[flags_segment()].data());
  std::vector<const void*> gradients;
  for (const auto& [segment, i] : order_) {
    const train::GradientPlace& place = gradients_[segment].places[i];
    gradients.push_back(flags[place.flag] > 0 ? step.sums[segment].data() + place.offset : nullptr);
  }
  std::vector<std::int64_t> counts(parameters_.size());
  std::vector<DLTensor> flat;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const bool is_double = gradients_[p].element == collective::Element::kF64;
    const std::uint8_t bits = is_double ? 64 : 32;
    counts[p] = static_cast<std::int64_t>(gradients_[p].bytes / (bits / 8));
    flat.push_back({.data = const_cast<std::byte*>(step.sums[p].data()),
                    .device = {kCpu, 0},
                    .ndim = 1,
                    .dtype = {kDlFloat, bits, 1},
                    .shape = &counts[p],
                    .strides = nullptr,
                    .byte_offset = 0});
  }
  std::vector<double> evaluation;
  for (const std::string& name : description_.evaluation) {
    const auto found = step.evaluation.find(name);
    if (found != step.evaluation.end()) evaluation.push_back(found->second);
  }
  const std::string rule(model::name(step.lr_rule));
  const edl_step told{.step = step.step.value(),
                      .epoch = step.epoch.value(),
                      .samples = step.samples,
                      .seen = step.seen,
                      .loss = step.loss,
                      .lr_factor = step.lr_factor,
                      .lr_rule = rule.c_str(),
                      .found_inf = step.found_inf ? 1 : 0,
                      .members = step.members,
                      .members_before = step.members_before.value_or(0),
                      .gradients = gradients.data(),
                      .segments = static_cast<std::uint32_t>(flat.size()),
                      .flat = flat.data(),
                      .evaluation = evaluation.empty() ? nullptr : evaluation.data()};
  edl_applied applied{.applied = 1, .saves = 0, .lr = 0};
  facts_.applied(step, description_.samples);
  if (!step.found_inf) take_buffers(step.sums, flags);
  EDL_TRY(called(calls_.apply(context_, &told, &applied), "apply"));
  if (!step.found_inf && applied.applied == 0) put_buffers_back();
  return train::Applied{
      .applied = applied.applied != 0, .saves = applied.saves != 0, .hyper = {{"lr", applied.lr}}};
}

Result<std::vector<double>> ForeignTrainee::evaluate(std::uint64_t from, std::uint64_t to) {
  begin_buffers();
  std::vector<double> sums(description_.evaluation.size());
  EDL_TRY(called(calls_.evaluate(context_, from, to, sums.data()), "evaluate"));
  return sums;
}

}  // namespace edl::capi
