// What is trained: a program as the rest of EDL sees it. It knows nothing of members, views or
// files: it loads a state, computes parts of a step, applies what was reduced, and shows its state.
// No framework here: numbers are bytes with a type.
//
// Its calls are made by one thread, one after the other. The same calls give the same bits in every
// process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/checkpoint/tensor.h"
#include "edl/collective/layout.h"
#include "edl/data/partition.h"
#include "edl/model/fields.h"
#include "edl/model/position.h"
#include "edl/model/rate.h"
#include "edl/model/sample_count.h"
#include "edl/model/view.h"
#include "edl/train/stream.h"

namespace edl::train {

// One tensor of the state, in place. Names are as in the state's hash: `model/NAME`,
// `optimizer/NAME/KEY`; and `user/NAME` for what the program keeps besides.
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

// Keeps numbers of gradients as they are until it ends.
class GradientHolder {
 public:
  virtual ~GradientHolder() = default;
  // Whether nobody but its owner sees the numbers now: then he may write there.
  virtual bool is_alone() const = 0;
};

// Numbers of gradients, still to be multiplied by `share`.
struct GradientPiece {
  ConstBytes numbers{};
  float share = 1;
  std::shared_ptr<const GradientHolder> holder{};
};

// Takes gradients of a part as soon as they are computed, while they are in a cache.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // Numbers of a gradient's segment from byte `offset` on. Without a holder it has read them when
  // it returns. Of a part each number comes once.
  virtual void take(std::size_t segment, std::uint64_t offset, GradientPiece piece) = 0;
  // All numbers of the segment from byte `offset` on were taken. Who says so now and then lets them
  // be sent while the rest is computed; nobody has to.
  virtual void taken_from(std::size_t segment, std::uint64_t offset) = 0;
};

// Where the numbers of a part go.
struct PartRoom {
  std::span<const ByteSpan> sums{};  // one for each segment, in the type of partial sums
  // Not null: the segments of gradients go there, and their spans stay as they are.
  GradientSink* gradients = nullptr;
};

struct Applied {
  bool applied = true;  // false: all skip this step
  bool saves = false;   // the program asks for a checkpoint of the state after it
  model::NamedNumbers hyper{};
};

// A step that was reduced, as it is applied.
struct ReducedStep {
  model::Step step{};
  model::Generation generation{};  // of the view that computed it
  model::Epoch epoch{};
  std::uint64_t samples = 0;
  std::uint64_t seen = 0;  // samples that were trained on, with those of this step
  double loss = 0;         // the mean over its samples
  double lr_factor = 1;
  model::RateRule lr_rule = model::RateRule::kNone;
  bool found_inf = false;
  std::span<const ConstBytes> sums{};  // one for each segment
  // Of the state before this step, where it was evaluated: means over the held-out samples.
  model::NamedNumbers evaluation{};
  std::uint32_t members = 1;  // that computed it
  // In a view's first step, but for the first of all: those of the view that trained before.
  std::optional<std::uint32_t> members_before{};
};

// A view that this worker trains in.
struct EnteredView {
  model::View view{};
  model::Rank own{};
  model::WorkerId leader{};  // who made it
  std::string dir{};         // of the job
};

class Trainee {
 public:
  virtual ~Trainee() = default;

  virtual model::SampleCount samples() const = 0;
  // Where samples come from whose number is not known; null when it is.
  virtual Stream* stream() { return nullptr; }
  // What each part gives and each step reduces, always the same.
  virtual std::vector<collective::Segment> segments() const = 0;
  // How many of them, from the first on, are gradients.
  virtual std::size_t gradient_segments() const = 0;
  // Whether it can train on one sample alone; not where samples are normalised by each other.
  virtual bool takes_one_sample() const { return true; }
  // What each part measures on its samples.
  virtual std::vector<std::string> metric_names() const { return {}; }

  // The state before the first step.
  virtual Result<void> initialise(std::uint64_t seed) = 0;
  // The whole state, always the same tensors at the same places.
  virtual std::vector<StateTensor> state() = 0;
  // The bytes of the state were replaced.
  virtual void loaded() {}

  // Whether it computes a part that nobody wants, before it has a state: what is slow when it is
  // done for the first time is done then, while nobody waits.
  virtual bool rehearses() const { return true; }
  // Whether it has a use for hints of what comes next.
  virtual bool loads_ahead() const { return false; }
  // A hint: the part that is most likely computed after the next one, so that its data can be
  // loaded meanwhile. It may be wrong, or missing.
  virtual void upcoming(const Part& part) { (void)part; }
  // Whether it can give gradients piece by piece.
  virtual bool streams_gradients() const { return false; }
  // Gives the part's gradient, each micro batch weighted by its share of the step's samples.
  virtual Result<PartSums> compute(const Part& part, const PartRoom& room) = 0;
  // Where the samples of the part lie in files, for those who trace them.
  virtual Result<std::vector<data::Place>> where(const Part& /*part*/) const {
    return std::vector<data::Place>();
  }
  virtual Result<Applied> apply(const ReducedStep& step) = 0;

  // Whether it wants to know of views and of the end.
  virtual bool follows_views() const { return false; }
  // The parts that are computed next belong to this view.
  virtual void entered(const EnteredView& /*entered*/) {}
  // No step follows in this process: the job has reached its end, or was stopped.
  virtual void ended(bool /*is_finished*/) {}

  // What is measured on how many samples that are not trained on, after each epoch; always the
  // same.
  virtual std::vector<std::string> evaluation_names() const { return {}; }
  virtual std::uint64_t held_out() const { return 0; }
  // Sums over the held-out samples [from, to), one for each name, in the present state.
  virtual Result<std::vector<double>> evaluate(std::uint64_t /*from*/, std::uint64_t /*to*/) {
    return std::vector<double>();
  }
};

}  // namespace edl::train
