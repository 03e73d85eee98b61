#include "edl/train/stepper.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "edl/base/random.h"

namespace edl::train {
namespace {

constexpr std::size_t kPartsMeasured = 17;
constexpr std::size_t kPartsAtLeast = 5;
constexpr std::uint64_t kStepsAhead = 4;  // of which the samples of a stream should be known

std::byte* aligned_zeros(std::size_t bytes) {
  auto* const at =
      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(collective::kAlignment)));
  std::memset(at, 0, bytes);
  return at;
}

std::uint32_t filled_parts(const model::StepPlan& plan, std::uint32_t logical_workers) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(plan.positions.size(), logical_workers));
}

// Of what logical worker v draws in a step, whoever carries it.
std::uint64_t random_seed(std::uint64_t seed, model::Step step, model::LogicalWorker v) {
  return mix64(mix64(mix64(seed) ^ step.value()) ^ v.value());
}

collective::Buffer buffer_of(ConstBytes sum) {
  return {const_cast<std::byte*>(sum.data()), sum.size()};
}

bool is_same(const model::StepPlan& one, const model::StepPlan& other) {
  return one.step == other.step && one.epoch == other.epoch && one.positions == other.positions;
}

}  // namespace

// Gradients that come piece by piece, on their way into the sums.
class Stepper::SumsSink final : public GradientSink {
 public:
  SumsSink(Stepper& stepper, std::shared_ptr<Computed> task)
      : stepper_(stepper), task_(std::move(task)), first_(stepper.layout_.gradients().first) {}

  void take(std::size_t segment, std::uint64_t offset, ConstBytes numbers, float share) override {
    stepper_.sums_.fold(first_ + segment, offset, numbers, share);
  }
  void taken_from(std::size_t segment, std::uint64_t offset) override {
    if (!task_->is_expected) return;
    stepper_.trace(*task_);  // before anything of it is sent
    stepper_.executor_.tell([stepper = &stepper_, task = task_, segment = first_ + segment,
                             offset] { stepper->contribute_early(*task, segment, offset); });
  }

 private:
  Stepper& stepper_;
  const std::shared_ptr<Computed> task_;
  const std::size_t first_;
};

void Stepper::Free::operator()(std::byte* bytes) const {
  ::operator delete[](bytes, std::align_val_t(collective::kAlignment));
}

Stepper::Stepper(os::System& system, Executor& executor, Trainee& trainee,
                 const membership::Rules& rules, std::uint64_t seed, StepperEvents events)
    : system_(system),
      executor_(executor),
      trainee_(trainee),
      rules_(rules),
      seed_(seed),
      events_(std::move(events)),
      layout_(trainee, rules.logical_workers),
      reduced_(aligned_zeros(layout_.layout().reduced_bytes())),
      all_reduce_(layout_.layout(), adder_,
                  collective::Buffer(reduced_.get(), layout_.layout().reduced_bytes()),
                  {.first_reduced =
                       [this](model::Step step) {
                         events_.phase(Phase::kGather, step);
                         events_.stable(model::Step(step.value() - 1));
                       },
                   .reduced = [this](model::Step step,
                                     const model::Digest& digest) { on_reduced(step, digest); },
                   .failed = [this](model::Rank rank,
                                    const Error& error) { events_.violated(rank, error); }}),
      sums_(layout_.layout()) {}

void Stepper::set_position(const model::Position& here, const model::Crowd& trained_by) {
  here_ = here;
  trained_by_ = trained_by;
  record_ = {};
  last_completed_ = {};
}

void Stepper::enter(const model::View& view, model::Rank own,
                    std::vector<wire::Connection*> links) {
  view_ = view;
  own_ = own;
  begun_ = false;
  part_speeds_.clear();
  all_reduce_.leave();
  links_.clear();
  std::vector<collective::Link*> posts;
  for (wire::Connection* const link : links) {
    links_.push_back(link == nullptr ? nullptr
                                     : std::make_unique<collective::ConnectionLink>(*link));
    posts.push_back(links_.back().get());
  }
  all_reduce_.enter(view, own, std::move(posts));
  if (!computing_) begin_step();
}

void Stepper::leave() {
  view_.reset();
  lacks_samples_ = false;
  begun_ = false;
  all_reduce_.leave();
}

Result<void> Stepper::on_bulk(model::Rank from, const wire::Header& header, std::uint64_t offset,
                              ConstBytes piece) {
  if (!view_) return {};
  return all_reduce_.on_bulk(from, header, offset, piece);
}

void Stepper::set_extent(const model::StreamExtent& extent) {
  extent_ = extent;
  if (!computing_) begin_step();
}

std::optional<model::StepPlan> Stepper::plan_from(const model::Position& at) const {
  const model::SampleCount samples = trainee_.samples();
  if (!samples.is_known()) return model::next_step(at, extent_, view_->batch.global);
  return model::next_step(at, samples.known(), view_->batch.global);
}

void Stepper::wait_for_samples() {
  last_completed_ = {};  // how long that takes says nothing about steps
  if (!extent_.has_ended) return;
  // Of a part: when another worker finds the same, the job ends with this sentence.
  events_.failed(here_.step.next(), model::LogicalWorker(0),
                 {Code::kInvalid, text("the stream has ended after ", extent_.records,
                                       " records, and training is at position ", here_.position)});
}

// What this member has computed already for the same samples stays valid.
void Stepper::begin_step() {
  if (!view_ || begun_ || applying_ || rules_.is_finished(here_)) return;
  const std::optional<model::StepPlan> planned = plan_from(here_);
  if (!trainee_.samples().is_known()) {
    events_.wants(here_.position + kStepsAhead * view_->batch.global + 1);
  }
  lacks_samples_ = !planned;
  if (!planned) return wait_for_samples();
  const model::StepPlan& plan = *planned;
  const std::uint32_t parts = filled_parts(plan, rules_.logical_workers);
  if (!plan_ || !is_same(*plan_, plan)) sums_.begin(parts);
  plan_ = plan;
  begun_ = true;
  contributed_.clear();
  const auto& own = view_->members[own_.value()].logical;
  const std::vector<model::LogicalWorker> missing = sums_.missing(own);
  kept_parts_ = sums_.computed();
  all_reduce_.begin(plan.step, parts);
  if (!begun_) return;
  contribute();
  if (begun_ && !computing_ && !applying_) compute_next();
}

Part Stepper::part_of(const model::StepPlan& plan, model::LogicalWorker v) const {
  Part part{.step = plan.step,
            .epoch = plan.epoch,
            .v = v,
            .step_samples = plan.positions.size(),
            .micro = view_->batch.micro,
            .seed = seed_,
            .random_seed = random_seed(seed_, plan.step, v)};
  const model::PositionRange positions = plan.part(v, rules_.logical_workers);
  part.indices = model::sample_indices(positions, trainee_.samples(), seed_, plan.epoch);
  return part;
}

// The part behind the first of those that are missing: of this step, else of the next one, when
// nothing changes until then.
std::optional<Part> Stepper::part_behind(std::span<const model::LogicalWorker> missing) const {
  if (missing.size() > 1) return part_of(*plan_, missing[1]);
  const model::Position after = plan_->after();
  if (rules_.is_finished(after)) return std::nullopt;
  const std::optional<model::StepPlan> next = plan_from(after);
  const model::LogicalWorker v = view_->members[own_.value()].logical.front();
  if (!next || next->part(v, rules_.logical_workers).size() == 0) return std::nullopt;
  return part_of(*next, v);
}

void Stepper::compute_next() {
  if (!view_ || !begun_ || computing_) return;
  const auto& own = view_->members[own_.value()].logical;
  const std::vector<model::LogicalWorker> missing = sums_.missing(own);
  if (missing.empty()) return;
  const model::LogicalWorker v = missing.front();
  events_.phase(Phase::kData, plan_->step);
  auto task = std::make_shared<Computed>();
  task->part = part_of(*plan_, v);
  if (trainee_.loads_ahead()) task->behind = part_behind(missing);
  task->evaluates = layout_.evaluation().is_due(plan_->epoch, plan_->positions.from);
  events_.phase(Phase::kCompute, plan_->step);
  if (!view_) return;
  open(*task);
  computing_ = true;
  const Time began = system_.now();
  executor_.run(
      [this, task, slowness = slowness_] {
        if (task->behind) trainee_.upcoming(*task->behind);
        const Result<void> done = compute(task, slowness);
        if (!done.ok()) {
          task->error = done.error();
          return;
        }
        trace(*task);
        sums_.close();
      },
      [this, task, began] {
        computing_ = false;
        task->took = system_.now() - began;
        computed(*task);
      });
}

void Stepper::open(Computed& task) {
  task.generation = view_->generation;
  // The norm of a part needs all of it at once.
  task.streams = trainee_.streams_gradients() && !measures_noise(task.part.step);
  const StepLayout::Segments gradients = layout_.gradients();
  sums_.open(task.part.v, gradients.first, task.streams ? gradients.count : 0);
  task.node = sums_.coming();
  task.sum = sums_.coming_sum();
  const auto& nodes = all_reduce_.own_nodes();
  task.is_expected = std::find(nodes.begin(), nodes.end(), task.node) != nodes.end();
}

// By the executor. A drill of slowness computes the same again and again.
Result<void> Stepper::compute(const std::shared_ptr<Computed>& task, double slowness) {
  for (double more = 1; more < slowness; ++more) EDL_TRY(fill(*task, nullptr));
  SumsSink sink(*this, task);
  return fill(*task, task->streams ? &sink : nullptr);
}

// By the executor.
void Stepper::trace(Computed& task) {
  if (!std::exchange(task.is_traced, true)) events_.computed(task.part, task.generation);
}

// Into the room of the sums.
Result<void> Stepper::fill(const Computed& task, GradientSink* gradients) {
  const Part& part = task.part;
  std::vector<double> evaluated;
  if (task.evaluates) {
    EDL_TRY(evaluated, layout_.evaluation().share(trainee_, part.v, sums_.parts()));
  }
  const std::vector<ByteSpan>& into = sums_.room();
  EDL_TRY(const PartSums sums, trainee_.compute(part, {layout_.of_trainee(into), gradients}));
  layout_.write(sums, part.v, into);
  layout_.write_evaluation(evaluated, into);
  if (measures_noise(part.step)) {
    const double times =
        static_cast<double>(part.step_samples) / static_cast<double>(part.indices.size());
    layout_.write_norm(part.v, times, into);
  }
  return {};
}

void Stepper::computed(const Computed& result) {
  if (result.error) return events_.failed(result.part.step, result.part.v, *result.error);
  measure(result);
  if (!view_) return;
  if (!begun_) return begin_step();  // another view has begun meanwhile
  contribute();
  if (begun_ && !applying_) compute_next();
}

// The median of a few: one part that had to wait says nothing.
void Stepper::measure(const Computed& result) {
  const double took = seconds(result.took);
  if (took <= 0 || result.evaluates) return;
  part_speeds_.push_back(static_cast<double>(result.part.indices.size()) / took);
  if (part_speeds_.size() > kPartsMeasured) part_speeds_.pop_front();
  if (part_speeds_.size() < kPartsAtLeast) return;
  std::vector<double> sorted(part_speeds_.begin(), part_speeds_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  speed_ = *middle;
}

// The end of a sum is there, the rest is being computed.
void Stepper::contribute_early(const Computed& task, std::size_t segment, std::uint64_t offset) {
  const bool is_of_now =
      view_ && begun_ && view_->generation == task.generation && plan_->step == task.part.step;
  if (!is_of_now) return;
  events_.phase(Phase::kReduce, plan_->step);
  if (!view_) return;
  const auto sent = all_reduce_.contribute_early(task.node, buffer_of(task.sum), segment, offset);
  if (!sent.ok()) events_.violated(own_, sent.error());
}

// Sends the sums that are whole now and were not sent in this view.
void Stepper::contribute() {
  const std::vector<model::TreeNode> nodes = all_reduce_.own_nodes();
  for (const model::TreeNode& node : nodes) {
    if (!sums_.has(node)) continue;
    if (std::find(contributed_.begin(), contributed_.end(), node) != contributed_.end()) continue;
    contributed_.push_back(node);
    events_.phase(Phase::kReduce, plan_->step);
    if (!view_) return;
    const auto sent = all_reduce_.contribute(node, buffer_of(sums_.sum(node)));
    if (!sent.ok()) return events_.violated(own_, sent.error());
    if (!view_ || !begun_ || applying_) return;
  }
}

}  // namespace edl::train
