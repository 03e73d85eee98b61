// What is trained: a program as the rest of EDL sees it. It knows nothing of members, views or
// files: it loads a state, computes parts of a step, applies what was reduced, and shows its state.
// No framework here: numbers are bytes with a type.
//
// Its calls are made by one thread, one after the other. The same calls give the same bits in every
// process.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/checkpoint/tensor.h"
#include "edl/collective/layout.h"
#include "edl/model/fields.h"
#include "edl/model/position.h"
#include "edl/model/rate.h"

namespace edl::train {

// One tensor of the state, in place. Names are as in the state's hash: `model/NAME`,
// `optimizer/NAME/KEY`.
struct StateTensor {
  std::string name;
  checkpoint::Dtype dtype = checkpoint::Dtype::kF32;
  std::vector<std::int64_t> shape{};
  ByteSpan bytes{};
};

// What one logical worker computes in one step.
struct Part {
  model::Step step{};
  model::Epoch epoch{};
  model::LogicalWorker v{};
  std::vector<std::uint64_t> indices{};  // of samples, in order; at least one
  std::uint64_t step_samples = 1;        // M: of all parts together
  std::uint64_t micro = 1;               // samples of a micro batch at most
  std::uint64_t seed = 0;                // of the job
  std::uint64_t random_seed = 0;         // of the random numbers of this part
};

// Beside the gradients: sums over the samples of the part.
struct PartSums {
  double loss = 0;
  std::vector<double> metrics{};  // as many as metric_names
  bool found_inf = false;
};

struct Applied {
  bool applied = true;  // false: all skip this step
  model::NamedNumbers hyper{};
};

// A step that was reduced, as it is applied.
struct ReducedStep {
  model::Step step{};
  model::Epoch epoch{};
  std::uint64_t samples = 0;
  std::uint64_t seen = 0;  // samples that were trained on, with those of this step
  double lr_factor = 1;
  model::RateRule lr_rule = model::RateRule::kNone;
  bool found_inf = false;
  std::span<const ConstBytes> sums{};  // one for each segment
};

class Trainee {
 public:
  virtual ~Trainee() = default;

  virtual std::uint64_t samples() const = 0;
  // What each part gives and each step reduces, always the same.
  virtual std::vector<collective::Segment> segments() const = 0;
  // How many of them, from the first on, are gradients.
  virtual std::size_t gradient_segments() const = 0;
  virtual std::vector<std::string> metric_names() const { return {}; }

  // The state before the first step.
  virtual Result<void> initialise(std::uint64_t seed) = 0;
  // The whole state, always the same tensors at the same places.
  virtual std::vector<StateTensor> state() = 0;
  // The bytes of the state were replaced.
  virtual void loaded() {}

  // Writes the part's gradient, each micro batch weighted by its share of the step's samples, into
  // `sums`: one span for each segment, in the type of partial sums.
  virtual Result<PartSums> compute(const Part& part, std::span<const ByteSpan> sums) = 0;
  virtual Result<Applied> apply(const ReducedStep& step) = 0;

  // Metrics of the present state on held-out data, for the end of an epoch; nothing by default.
  virtual model::NamedNumbers evaluate() { return {}; }
};

}  // namespace edl::train
