#include "edl/train/stepper.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "edl/base/random.h"

namespace edl::train {
namespace {

constexpr std::size_t kPartsMeasured = 17;
constexpr std::size_t kPartsAtLeast = 5;
constexpr std::uint64_t kNoiseEvery = 16;  // steps, where nobody waits for it

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

bool is_same(const model::StepPlan& one, const model::StepPlan& other) {
  return one.step == other.step && one.epoch == other.epoch && one.positions == other.positions;
}

}  // namespace

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

void Stepper::set_position(const model::Position& here) {
  here_ = here;
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
  begun_ = false;
  all_reduce_.leave();
}

Result<void> Stepper::on_bulk(model::Rank from, const wire::Header& header, std::uint64_t offset,
                              ConstBytes piece) {
  if (!view_) return {};
  return all_reduce_.on_bulk(from, header, offset, piece);
}

// What this member has computed already for the same samples stays valid.
void Stepper::begin_step() {
  if (!view_ || begun_ || applying_ || rules_.is_finished(here_)) return;
  const model::StepPlan plan = model::next_step(here_, trainee_.samples(), view_->batch.global);
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

Part Stepper::part_of(model::LogicalWorker v) const {
  Part part{.step = plan_->step,
            .epoch = plan_->epoch,
            .v = v,
            .step_samples = plan_->positions.size(),
            .micro = view_->batch.micro,
            .seed = seed_,
            .random_seed = random_seed(seed_, plan_->step, v)};
  const model::SampleOrder order(trainee_.samples(), seed_, plan_->epoch);
  const model::PositionRange positions = plan_->part(v, rules_.logical_workers);
  for (std::uint64_t p = positions.from; p < positions.to; ++p) {
    part.indices.push_back(order.at(p));
  }
  return part;
}

void Stepper::compute_next() {
  if (!view_ || !begun_ || computing_) return;
  const auto& own = view_->members[own_.value()].logical;
  const std::vector<model::LogicalWorker> missing = sums_.missing(own);
  if (missing.empty()) return;
  const model::LogicalWorker v = missing.front();
  events_.phase(Phase::kData, plan_->step);
  auto task = std::make_shared<Computed>();
  task->part = part_of(v);
  events_.phase(Phase::kCompute, plan_->step);
  if (!view_) return;
  computing_ = true;
  const Time began = system_.now();
  executor_.run(
      [this, task, generation = view_->generation, slowness = slowness_] {
        const std::vector<ByteSpan>& into = sums_.scratch();
        auto sums = trainee_.compute(task->part, layout_.of_trainee(into));
        // A drill of slowness computes the same again and again.
        for (double more = 1; more < slowness && sums.ok(); ++more) {
          sums = trainee_.compute(task->part, layout_.of_trainee(into));
        }
        if (!sums.ok()) {
          task->error = sums.error();
          return;
        }
        layout_.write(*sums, task->part.v, into);
        if (measures_noise(task->part.step)) {
          const double times = static_cast<double>(task->part.step_samples) /
                               static_cast<double>(task->part.indices.size());
          layout_.write_norm(task->part.v, times, into);
        }
        events_.computed(task->part, generation);
        sums_.add(task->part.v);
      },
      [this, task, began] {
        computing_ = false;
        task->took = system_.now() - began;
        computed(*task);
      });
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
  if (took <= 0) return;
  part_speeds_.push_back(static_cast<double>(result.part.indices.size()) / took);
  if (part_speeds_.size() > kPartsMeasured) part_speeds_.pop_front();
  if (part_speeds_.size() < kPartsAtLeast) return;
  std::vector<double> sorted(part_speeds_.begin(), part_speeds_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  speed_ = *middle;
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
    const ConstBytes sum = sums_.sum(node);
    const auto sent = all_reduce_.contribute(
        node, collective::Buffer(const_cast<std::byte*>(sum.data()), sum.size()));
    if (!sent.ok()) return events_.violated(own_, sent.error());
    if (!view_ || !begun_ || applying_) return;
  }
}

void Stepper::on_reduced(model::Step step, const model::Digest& digest) {
  EDL_CHECK(plan_ && plan_->step == step);
  record_ = {};
  record_.generation = view_->generation;
  record_.step = step;
  record_.epoch = plan_->epoch;
  record_.position = plan_->positions.from;
  record_.samples = plan_->positions.size();
  record_.digest = digest;
  record_.hyper["lr_factor"] = lr_factor();
  begun_ = false;
  apply_reduced();
}

// The same steps on every member, so that the sums are equal.
bool Stepper::measures_noise(model::Step step) const {
  if (rules_.logical_workers < 2) return false;
  return rules_.policy == model::BatchPolicy::kAdaptive || step.value() % kNoiseEvery == 0;
}

void Stepper::measure_noise(double whole) {
  std::vector<batch::PartNorm> parts;
  for (std::uint32_t v = 0; v < record_.squared_norms.size(); ++v) {
    const auto samples =
        model::part_size(record_.samples, rules_.logical_workers, model::LogicalWorker(v));
    parts.push_back({samples, record_.squared_norms[v]});
  }
  noise_.measure(parts, whole);
}

// A function of the view and of the samples up to the end of the step.
double Stepper::lr_factor() const {
  const batch::Rate rate{view_->lr_factor, view_->ramp};
  return rate.at(record_.step) * batch::warmup_factor(seen(record_), rules_.warmup_samples);
}

Result<void> Stepper::apply(const model::StepRecordHeader& record, ConstBytes reduced) {
  if (record.step != here_.step.next() || record.epoch != here_.epoch ||
      record.position != here_.position) {
    return Error{Code::kInvalid,
                 text("the record of step ", record.step, " does not follow step ", here_.step)};
  }
  if (reduced.size() != layout_.layout().reduced_bytes()) {
    return Error{Code::kInvalid, text("a record of ", reduced.size(), " bytes; this job's have ",
                                      layout_.layout().reduced_bytes())};
  }
  if (view_ || applying_) return Error{Code::kConflict, "a step is being trained"};
  std::memcpy(reduced_.get(), reduced.data(), reduced.size());
  record_ = record;
  apply_reduced();
  return {};
}

model::Position Stepper::after(const model::StepRecordHeader& record) const {
  const std::uint64_t end = record.position + record.samples;
  if (end >= trainee_.samples()) return {record.epoch.next(), 0, record.step};
  return {record.epoch, end, record.step};
}

std::uint64_t Stepper::seen(const model::StepRecordHeader& record) const {
  return record.epoch.value() * trainee_.samples() + record.position + record.samples;
}

void Stepper::apply_reduced() {
  applying_ = true;
  events_.applying(record_.step);
  events_.phase(Phase::kApply, record_.step);
  struct Outcome {
    Result<Applied> applied = Applied();
    std::optional<double> norm{};
  };
  auto outcome = std::make_shared<Outcome>();
  const auto factor = record_.hyper.find("lr_factor");
  layout_.read(reduced(), record_);
  executor_.run(
      [this, outcome, lr_factor = factor == record_.hyper.end() ? 1.0 : factor->second] {
        const std::vector<ConstBytes> spans = layout_.cut(reduced());
        if (!record_.squared_norms.empty()) outcome->norm = layout_.squared_norm(reduced());
        outcome->applied = trainee_.apply({.step = record_.step,
                                           .epoch = record_.epoch,
                                           .samples = record_.samples,
                                           .seen = seen(record_),
                                           .lr_factor = lr_factor,
                                           .lr_rule = rules_.lr_rule,
                                           .found_inf = record_.found_inf,
                                           .sums = layout_.of_trainee(spans)});
      },
      [this, outcome] {
        applying_ = false;
        if (!outcome->applied.ok()) {
          return events_.failed(record_.step, std::nullopt, outcome->applied.error());
        }
        record_.applied = outcome->applied->applied;
        if (outcome->norm && record_.applied) measure_noise(*outcome->norm);
        for (const auto& [name, value] : outcome->applied->hyper) record_.hyper[name] = value;
        here_ = after(record_);
        const Time now = system_.now();
        const Duration took = last_completed_ == Time() ? Duration() : now - last_completed_;
        last_completed_ = now;
        events_.completed(here_, took);
        if (!computing_) begin_step();
      });
}

}  // namespace edl::train
