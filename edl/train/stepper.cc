#include "edl/train/stepper.h"

#include <algorithm>
#include <cstring>

namespace edl::train {
namespace {

constexpr std::size_t kPartsMeasured = 17;
constexpr std::size_t kPartsAtLeast = 5;
constexpr std::uint64_t kStepsAhead = 4;  // of which the samples of a stream should be known

collective::Buffer buffer_of(ConstBytes sum) {
  return {const_cast<std::byte*>(sum.data()), sum.size()};
}

bool contains(std::span<const model::TreeNode> nodes, const model::TreeNode& node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

bool is_same(const model::StepPlan& one, const model::StepPlan& other) {
  return one.step == other.step && one.epoch == other.epoch && one.positions == other.positions;
}

}  // namespace

// Gradients that come piece by piece, on their way into the sums.
class Stepper::SumsSink final : public GradientSink {
 public:
  // `before_sending` is called once, if anything is sent.
  SumsSink(Stepper& stepper, const Run& run, const Part& part, os::Task before_sending)
      : stepper_(stepper),
        first_(stepper.layout_.gradients().first),
        sum_{run.generation, part.step, stepper.sums_.coming(), stepper.sums_.coming_sum()},
        is_expected_(run.sends_early && contains(run.nodes, sum_.node)),
        before_sending_(std::move(before_sending)) {}

  void take(std::size_t segment, std::uint64_t offset, GradientPiece piece) override {
    stepper_.sums_.fold(first_ + segment, offset, std::move(piece));
  }
  void taken_from(std::size_t segment, std::uint64_t offset) override {
    if (!is_expected_) return;
    if (before_sending_) std::exchange(before_sending_, nullptr)();
    stepper_.executor_.tell([stepper = &stepper_, sum = sum_, segment = first_ + segment, offset] {
      stepper->contribute_early(sum, segment, offset);
    });
  }

 private:
  Stepper& stepper_;
  const std::size_t first_;
  const EarlySum sum_;
  const bool is_expected_;
  os::Task before_sending_;
};

Stepper::Stepper(os::System& system, Executor& executor, Trainee& trainee,
                 const membership::Rules& rules, std::uint64_t seed, StepperEvents events)
    : system_(system),
      executor_(executor),
      trainee_(trainee),
      rules_(rules),
      seed_(seed),
      events_(std::move(events)),
      layout_(trainee, rules.logical_workers),
      reduced_(zero_numbers(layout_.layout().reduced_bytes())),
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
  watch_ = StateWatch();
  here_ = here;
  trained_by_ = trained_by;
  record_ = {};
  last_completed_ = {};
  plan_.reset();  // parts of another state, though it may be of the same step
}

void Stepper::enter(const model::View& view, model::Rank own,
                    std::vector<wire::Connection*> links) {
  view_ = view;
  own_ = own;
  begun_ = false;
  stop_run();
  part_speeds_.clear();
  all_reduce_.leave();
  links_.clear();
  std::vector<collective::Link*> posts;
  for (wire::Connection* const link : links) {
    links_.push_back(link == nullptr ? nullptr
                                     : std::make_unique<collective::ConnectionLink>(*link));
    posts.push_back(links_.back().get());
  }
  if (!is_alone()) {
    all_reduce_.move_reduced(collective::Buffer(reduced_.get(), layout_.layout().reduced_bytes()));
    all_reduce_.enter(view, own, std::move(posts));
  }
  begin_step();
}

void Stepper::leave() {
  view_.reset();
  lacks_samples_ = false;
  begun_ = false;
  stop_run();
  all_reduce_.leave();
}

void Stepper::stop_run() {
  if (!run_) return;
  run_->is_void->raise();
  take_back_permit(*run_);
}

void Stepper::take_back_permit(Run& run) {
  if (!run.permit.take_back()) return;
  applying_ = false;
  events_.not_applied();
}

// A run that has not begun waits behind an update, or is a rehearsal.
std::optional<Doing> Stepper::doing() const {
  const std::size_t begun = run_ ? run_->begun.value() : 0;
  if (begun > 0) return Doing{run_->parts[begun - 1].step, run_->parts[begun - 1].v};
  if (applying_) return Doing{record_.step, std::nullopt};
  if (run_) return Doing{run_->parts.front().step, std::nullopt};
  return std::nullopt;
}

Result<void> Stepper::on_bulk(model::Rank from, const wire::Header& header, std::uint64_t offset,
                              ConstBytes piece) {
  if (!view_) return {};
  return all_reduce_.on_bulk(from, header, offset, piece);
}

void Stepper::set_extent(const model::StreamExtent& extent) {
  extent_ = extent;
  begin_step();
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
  if (run_ && run_->is_void->is_raised()) return;  // it uses the sums still
  const std::optional<model::StepPlan> planned = plan_from(here_);
  if (!trainee_.samples().is_known()) {
    events_.wants(here_.position + kStepsAhead * view_->batch.global + 1);
  }
  lacks_samples_ = !planned;
  if (!planned) return wait_for_samples();
  EDL_CHECK(!run_ || is_same(*plan_, *planned), "another step was begun ahead");
  if (!run_) set_plan(*planned);
  begun_ = true;
  contributed_.clear();
  if (!is_alone()) all_reduce_.begin(plan_->step, sums_.parts());
  if (!begun_) return;
  if (run_) return tell_computing();
  contribute();
  if (begun_ && !applying_) compute_next();
}

// Alone, the sum of all parts is the result, where it lies.
bool Stepper::is_alone() const {
  return view_->members.size() == 1 && layout_.layout().is_one_space();
}

void Stepper::set_plan(const model::StepPlan& plan) {
  if (!plan_ || !is_same(*plan_, plan)) sums_.begin(filled_parts(plan));
  plan_ = plan;
}

void Stepper::compute_next() {
  if (!view_ || !begun_ || run_) return;
  const auto& own = view_->members[own_.value()].logical;
  const std::vector<model::LogicalWorker> missing = sums_.missing(own);
  if (missing.empty()) return;
  tell_computing();
  if (view_) start(run_of(*plan_, missing));
}

void Stepper::tell_computing() {
  events_.phase(Phase::kData, plan_->step);
  if (view_) events_.phase(Phase::kCompute, plan_->step);
}

void Stepper::start(std::shared_ptr<Run> run) {
  run_ = run;
  executor_.run_pieces([this, run = std::move(run)]() mutable { return advance(run); },
                       [this] { computed(*std::exchange(run_, nullptr)); });
}

// By the executor.
bool Stepper::advance(std::shared_ptr<Run>& run) {
  if (run->begun.value() == run->parts.size()) return go_on(run);
  const bool is_void = run->is_void->is_raised();
  if (!is_void && compute_part(*run)) return true;
  return !is_void && !run->error && run->permit.is_given();
}

// A run that is void from the beginning: whoever begins a step meanwhile waits until it has ended.
void Stepper::rehearse() {
  EDL_CHECK(!view_ && !run_);
  const model::SampleCount samples = trainee_.samples();
  if (!trainee_.rehearses() || !samples.is_known()) return;
  const model::Batch batch = rules_.batch_of(1);
  const model::StepPlan plan = model::next_step({}, samples.known(), batch.global);
  auto run = std::make_shared<Run>();
  run->nodes = {{0, 1}};
  run->parts = {part_of(plan, model::LogicalWorker(0), batch.micro)};
  run->streams = trainee_.streams_gradients() && !measures_noise(plan.step);
  run->is_void->raise();
  run_ = run;
  plan_.reset();
  sums_.begin(filled_parts(plan));
  executor_.run([this, run] { compute_for_nobody(*run); },
                [this] {
                  run_ = nullptr;
                  begin_step();
                });
}

// By the executor. What fails here fails again where it counts.
void Stepper::compute_for_nobody(const Run& run) {
  const StepLayout::Segments gradients = layout_.gradients();
  sums_.open(
      run.parts.front().v,
      {.first = gradients.first, .count = run.streams ? gradients.count : 0, .whole = run.nodes});
  SumsSink sink(*this, run, run.parts.front(), nullptr);
  (void)fill(run, run.parts.front(), run.streams ? &sink : nullptr);
  sums_.close();
  std::memset(reduced_.get(), 0, layout_.layout().reduced_bytes());
}

// By the executor. A drill of slowness computes the same again and again. Says whether there is a
// next one.
bool Stepper::compute_part(Run& run) {
  const std::size_t number = run.begun.raise();
  const Part& part = run.parts[number];
  const bool is_last = number + 1 == run.parts.size();
  if (!is_last && trainee_.loads_ahead()) trainee_.upcoming(run.parts[number + 1]);
  if (is_last && run.behind) trainee_.upcoming(*run.behind);
  const StepLayout::Segments gradients = layout_.gradients();
  sums_.open(part.v, {.first = gradients.first,
                      .count = run.streams ? gradients.count : 0,
                      .whole = run.nodes,
                      .spares = run.shares_soon});
  bool is_traced = false;
  const auto trace = [&] {
    if (!std::exchange(is_traced, true)) events_.computed(part, run.generation);
  };
  Result<void> done;
  for (double more = 1; done.ok() && more < run.slowness; ++more) done = fill(run, part, nullptr);
  SumsSink sink(*this, run, part, trace);
  if (done.ok()) done = fill(run, part, run.streams ? &sink : nullptr);
  if (!done.ok()) {
    run.error = done.error();
    return false;
  }
  trace();
  sums_.close(run.shares_soon && run.is_void->is_raised());
  const Time now = system_.now();
  const double took = seconds(now - std::exchange(run.part_began, now));
  if (took > 0) run.speeds.push_back(static_cast<double>(part.indices.size()) / took);
  return !is_last && !run.is_void->is_raised();
}

// Into the room of the sums.
Result<void> Stepper::fill(const Run& run, const Part& part, GradientSink* gradients) {
  std::vector<double> evaluated;
  if (run.evaluates) {
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

void Stepper::computed(Run& run) {
  if (run.error) {
    const Part& part = run.parts[run.begun.value() - 1];
    return events_.failed(part.step, part.v, *run.error);
  }
  measure(run);
  if (run.going_on && run.going_on->is_applied) return went_on(*run.going_on);
  take_back_permit(run);  // it came too late
  if (!view_) return;
  if (!begun_) return begin_step();  // another view has begun meanwhile
  contribute();
  if (begun_ && !applying_) compute_next();
}

// The median of a few: one part that had to wait says nothing.
void Stepper::measure(const Run& run) {
  if (run.evaluates) return;
  part_speeds_.insert(part_speeds_.end(), run.speeds.begin(), run.speeds.end());
  while (part_speeds_.size() > kPartsMeasured) part_speeds_.pop_front();
  if (part_speeds_.size() < kPartsAtLeast) return;
  std::vector<double> sorted(part_speeds_.begin(), part_speeds_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  speed_ = *middle;
}

// The end of a sum is there, the rest is being computed.
void Stepper::contribute_early(const EarlySum& sum, std::size_t segment, std::uint64_t offset) {
  const bool is_of_now =
      view_ && begun_ && view_->generation == sum.generation && plan_->step == sum.step;
  if (!is_of_now) return;
  events_.phase(Phase::kReduce, plan_->step);
  if (!view_) return;
  const auto sent = all_reduce_.contribute_early(sum.node, buffer_of(sum.bytes), segment, offset);
  if (!sent.ok()) events_.violated(own_, sent.error());
}

// Sends the sums that are whole now and were not sent in this view.
void Stepper::contribute() {
  if (is_alone()) return reduce_alone();
  const std::vector<model::TreeNode> nodes = all_reduce_.own_nodes();
  for (const model::TreeNode& node : nodes) {
    if (!sums_.has(node)) continue;
    if (contains(contributed_, node)) continue;
    contributed_.push_back(node);
    events_.phase(Phase::kReduce, plan_->step);
    if (!view_) return;
    const auto sent = all_reduce_.contribute(node, buffer_of(sums_.sum(node)));
    if (!sent.ok()) return events_.violated(own_, sent.error());
    if (!view_ || !begun_ || applying_) return;
  }
}

}  // namespace edl::train
