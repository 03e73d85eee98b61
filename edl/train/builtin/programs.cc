#include "edl/train/builtin/programs.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "edl/base/random.h"
#include "edl/base/sha256.h"
#include "edl/model/fingerprint.h"
#include "edl/train/builtin/linear.h"
#include "edl/train/builtin/mlp.h"
#include "edl/train/memory_bill.h"

namespace edl::train {
namespace {

struct Options {
  float rate = 0.1F;
  std::uint64_t work = 1;
  std::uint64_t ballast_bytes = 0;
};

struct TensorPlace {
  const char* name;
  std::vector<std::int64_t> shape;
  std::size_t offset;
  std::size_t count;
};

std::vector<TensorPlace> places(const Mlp*) {
  return {{"hidden.weight", {Mlp::kHidden, Mlp::kInputs}, 0, Mlp::kHiddenBias},
          {"hidden.bias", {Mlp::kHidden}, Mlp::kHiddenBias, Mlp::kHidden},
          {"output.weight",
           {Mlp::kClasses, Mlp::kHidden},
           Mlp::kOutputWeight,
           Mlp::kClasses * Mlp::kHidden},
          {"output.bias", {Mlp::kClasses}, Mlp::kOutputBias, Mlp::kClasses}};
}
std::vector<TensorPlace> places(const Linear*) {
  return {{"weight", {Linear::kClasses, Linear::kInputs}, 0, Linear::kBias},
          {"bias", {Linear::kClasses}, Linear::kBias, Linear::kClasses}};
}

// A model on the digits, trained with momentum. The ballast is a parameter that the loss does not
// use; it gets a gradient all the same, so that it is summed, applied, copied and written.
template <class Model>
class DigitsTrainee final : public Trainee {
 public:
  static constexpr float kMomentum = 0.9F;

  explicit DigitsTrainee(const Options& options)
      : options_(options),
        training_(training_digits()),
        test_(test_digits()),
        weights_(Model::kParameters + ballast()),
        momentum_(weights_.size()),
        scratch_(Model::kParameters) {}

  model::SampleCount samples() const override { return training_.size(); }
  std::size_t gradient_segments() const override { return 1; }
  std::vector<collective::Segment> segments() const override {
    return {{collective::Element::kF32, weights_.size()}};
  }

  Result<void> initialise(std::uint64_t seed) override {
    std::fill(weights_.begin(), weights_.end(), 0.0F);
    std::fill(momentum_.begin(), momentum_.end(), 0.0F);
    Model::initialise(seed, model_part(weights_));
    return {};
  }

  std::vector<StateTensor> state() override {
    std::vector<TensorPlace> all = places(static_cast<const Model*>(nullptr));
    if (ballast() > 0) {
      all.push_back(
          {"ballast", {static_cast<std::int64_t>(ballast())}, Model::kParameters, ballast()});
    }
    std::vector<StateTensor> tensors;
    for (const TensorPlace& place : all) {
      const auto part = [&](std::vector<float>& values) {
        return std::as_writable_bytes(std::span(values).subspan(place.offset, place.count));
      };
      tensors.push_back(
          {text("model/", place.name), checkpoint::Dtype::kF32, place.shape, part(weights_)});
      tensors.push_back({text("optimizer/", place.name, "/momentum"), checkpoint::Dtype::kF32,
                         place.shape, part(momentum_)});
    }
    return tensors;
  }

  Result<PartSums> compute(const Part& part, const PartRoom& room) override {
    const std::span<float> into(reinterpret_cast<float*>(room.sums[0].data()), weights_.size());
    std::fill(into.begin(), into.end(), 0.0F);
    const std::span<const std::uint64_t> indices(part.indices);
    PartSums out;
    for (std::size_t at = 0; at < indices.size(); at += part.micro) {
      const auto batch =
          indices.subspan(at, std::min<std::size_t>(part.micro, indices.size() - at));
      const auto gradient = std::span<float, Model::kParameters>(scratch_);
      float loss = 0;
      for (std::uint64_t i = 0; i < options_.work; ++i) {
        loss =
            Model::mean_gradient(model_part(std::as_const(weights_)), training_, batch, gradient);
      }
      const float weight = static_cast<float>(batch.size()) / static_cast<float>(part.step_samples);
      for (std::size_t i = 0; i < Model::kParameters; ++i) into[i] += gradient[i] * weight;
      for (std::size_t i = Model::kParameters; i < into.size(); ++i) {
        into[i] += (loss + 0.001F * weights_[i]) * weight;
      }
      out.loss += static_cast<double>(loss) * static_cast<double>(batch.size());
    }
    out.found_inf = !std::isfinite(out.loss);
    return out;
  }

  Result<Applied> apply(const ReducedStep& step) override {
    const float rate = options_.rate * static_cast<float>(step.lr_factor);
    Applied applied{.applied = !step.found_inf, .hyper = {{"lr", rate}}};
    if (step.found_inf) return applied;
    const std::span<const float> gradient(reinterpret_cast<const float*>(step.sums[0].data()),
                                          weights_.size());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      momentum_[i] = kMomentum * momentum_[i] + gradient[i];
      weights_[i] -= rate * momentum_[i];
    }
    return applied;
  }

  std::vector<std::string> evaluation_names() const override { return {"accuracy"}; }
  std::uint64_t held_out() const override { return test_.size(); }
  Result<std::vector<double>> evaluate(std::uint64_t from, std::uint64_t to) override {
    int right = 0;
    for (const Digit& digit : std::span(test_).subspan(from, to - from)) {
      right += Model::classify(model_part(std::as_const(weights_)), digit) == digit.label ? 1 : 0;
    }
    return std::vector<double>{static_cast<double>(right)};
  }

 private:
  std::size_t ballast() const { return options_.ballast_bytes / (2 * sizeof(float)); }
  template <class Values>
  static auto model_part(Values& values) {
    return std::span(values).template first<Model::kParameters>();
  }

  const Options options_;
  const std::vector<Digit> training_;
  const std::vector<Digit> test_;
  std::vector<float> weights_;
  std::vector<float> momentum_;
  std::vector<float> scratch_;
};

template <class T>
Result<T> parse_value(const std::string& arg, std::string_view value) {
  T number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= 0) return number;
  return Error{Code::kInvalid, text("the built-in programs do not understand ", arg)};
}

Result<Options> parse_options(const std::vector<std::string>& args) {
  constexpr std::uint64_t kBallastMax = std::uint64_t{1} << 36;
  Options options;
  for (const std::string& arg : args) {
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const std::string_view value =
        equals == std::string::npos ? std::string_view() : std::string_view(arg).substr(equals + 1);
    if (name == "--lr") {
      EDL_TRY(options.rate, parse_value<float>(arg, value));
    } else if (name == "--work") {
      EDL_TRY(options.work, parse_value<std::uint64_t>(arg, value));
    } else if (name == "--ballast") {
      EDL_TRY(options.ballast_bytes, parse_value<std::uint64_t>(arg, value));
    } else {
      return Error{Code::kInvalid, text("the built-in programs have no option ", arg,
                                        "; they have --lr=X, --work=N and --ballast=BYTES")};
    }
  }
  if (options.work < 1 || options.ballast_bytes > kBallastMax) {
    return Error{Code::kInvalid, "--work must be at least 1 and --ballast at most 64 GiB"};
  }
  return options;
}

// Without making it: the ballast may be more than there is.
MemoryFacts memory_of(std::uint64_t parameters) {
  const collective::Layout layout({{collective::Element::kF32, parameters}});
  return {.model_bytes = parameters * sizeof(float),
          .optimizer_bytes = parameters * sizeof(float),
          .gradient_bytes = layout.sums(0).bytes,
          .sum_bytes = layout.sum_bytes(),
          .reduced_bytes = layout.reduced_bytes()};
}

// Our own loops are the same bits everywhere; tanh and exp are the system's, and may not be.
model::Fingerprint fingerprint(const std::vector<Digit>& digits) {
  std::vector<float> weights(Mlp::kParameters);
  std::vector<float> gradient(Mlp::kParameters);
  const std::array<std::uint64_t, 4> few{0, 1, 2, 3};
  Mlp::initialise(0, Mlp::Gradient(weights));
  Mlp::mean_gradient(Mlp::Parameters(weights), digits, few, Mlp::Gradient(gradient));
  Sha256 hash;
  hash.add(std::as_bytes(std::span(gradient)));
  return {{"program", "built in"}, {model::kKnownPart, hash.finish().substr(0, 16)}};
}

}  // namespace

Result<WorkerProgram> builtin_program(const std::string& name,
                                      const std::vector<std::string>& args) {
  EDL_TRY(const Options options, parse_options(args));
  WorkerProgram program;
  const std::vector<Digit> digits = training_digits();
  program.facts = {{"samples", digits.size()},
                   {"batch", 64},
                   {"epochs", 20},
                   {"logical_workers", 8},
                   {"fingerprint", fingerprint(digits)}};
  program.facts["memory"] =
      memory_of((name == "builtin:mlp" ? Mlp::kParameters : Linear::kParameters) +
                options.ballast_bytes / (2 * sizeof(float)));
  if (name == "builtin:mlp") {
    program.make = [options]() -> Result<std::unique_ptr<Trainee>> {
      return std::unique_ptr<Trainee>(std::make_unique<DigitsTrainee<Mlp>>(options));
    };
    return program;
  }
  if (name == "builtin:linear") {
    program.make = [options]() -> Result<std::unique_ptr<Trainee>> {
      return std::unique_ptr<Trainee>(std::make_unique<DigitsTrainee<Linear>>(options));
    };
    return program;
  }
  return Error{Code::kInvalid, text("there is no program ", name,
                                    "; the built-in ones are builtin:mlp and builtin:linear")};
}

}  // namespace edl::train
