// Trains step after step in a view: computes the parts that this member carries, reduces them with
// the others, applies the result. On the loop's thread; the trainee's calls run in the executor.
//
// The reduced numbers of the last completed step stay here, as they left the tree, until reduced
// bytes of the next one prove that nobody needs them any more.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "edl/batch/noise.h"
#include "edl/collective/all_reduce.h"
#include "edl/membership/rules.h"
#include "edl/model/order.h"
#include "edl/model/view.h"
#include "edl/os/flag.h"
#include "edl/os/permit.h"
#include "edl/os/tally.h"
#include "edl/train/executor.h"
#include "edl/train/node_sums.h"
#include "edl/train/patience.h"
#include "edl/train/phases.h"
#include "edl/train/record_copy.h"
#include "edl/train/state_watch.h"
#include "edl/train/step_layout.h"

namespace edl::train {

struct StepperEvents {
  // From now on until `completed` or `not_applied` the state may be changed.
  std::function<void(model::Step)> applying;
  std::function<void()> not_applied;
  // The step's numbers have left the tree and are being applied. Not told where it `goes_on`.
  std::function<void()> reduced;
  // The step is applied; `here` is where the next one begins. `took`: since the one before.
  std::function<void(const model::Position& here, Duration took)> completed;
  // Every member has this step.
  std::function<void(model::Step)> stable;
  // The view cannot go on because of this member's doing.
  std::function<void(model::Rank, const Error&)> violated;
  // So many samples of a stream will be needed.
  std::function<void(std::uint64_t)> wants;
  // The program failed.
  std::function<void(model::Step, std::optional<model::LogicalWorker>, const Error&)> failed;
  // A part was computed, before anything of it is sent. Called by the executor.
  std::function<void(const Part&, model::Generation)> computed;
  // About to do this. Not told where it `goes_on`.
  std::function<void(Phase, model::Step)> phase;
  // Whether somebody is about to join, so that parts may become another's in the middle of a step.
  std::function<bool()> shares_soon;
  // Whether the step after this one may be applied, and the next one begun, before anybody is
  // asked.
  std::function<bool()> goes_on;
};

class Stepper {
 public:
  Stepper(os::System& system, Executor& executor, Trainee& trainee, const membership::Rules& rules,
          std::uint64_t seed, StepperEvents events);

  // The state that the trainee holds now is the one after `here.step`, which those trained.
  void set_position(const model::Position& here, const model::Crowd& trained_by = {});
  const model::Crowd& trained_by() const { return trained_by_; }
  const model::Position& here() const { return here_; }

  // So much is known of the stream now.
  void set_extent(const model::StreamExtent& extent);
  // It waits for samples to come.
  bool lacks_samples() const { return lacks_samples_; }

  // Computes a part for nobody, while there is no view and no record. Work that the executor is
  // asked for later comes behind it.
  void rehearse();
  // Links by rank, null for our own.
  void enter(const model::View& view, model::Rank own, std::vector<wire::Connection*> links);
  void leave();
  bool is_in_view() const { return view_.has_value(); }
  Result<void> on_bulk(model::Rank from, const wire::Header& header, std::uint64_t offset,
                       ConstBytes piece);
  // As of AllReduce.
  ByteSpan bulk_place(model::Rank from, const wire::Header& header, std::uint64_t offset) {
    return view_ ? all_reduce_.bulk_place(from, header, offset) : ByteSpan();
  }

  // The record of the last completed step, whole unless a step after it is being reduced.
  const model::StepRecordHeader& record() const { return record_; }
  ConstBytes reduced() const { return {reduced_.get(), layout_.layout().reduced_bytes()}; }
  // Applies the record of the next step, whose memory it takes for other memory of that size; it
  // answers by `completed`. While no view is entered.
  Result<void> apply(RecordCopy& record);

  // Steps that the executor has applied without asking.
  std::uint64_t gone_on() const { return gone_on_; }
  // Whether the program asked for a checkpoint of the state after the last completed step.
  bool saves() const { return saves_; }
  // What the executor is asked for by us and has not done.
  std::optional<Doing> doing() const;

  // Samples a second, as of most parts lately; 0 until some were computed.
  double speed() const { return speed_; }
  // Of the state, to be compared with what others hold.
  std::optional<membership::StateMark> take_mark() { return watch_.take(); }
  // Of the gradients of the steps that this worker has applied.
  const batch::NoiseScale& noise() const { return noise_; }
  void slow_down(double factor) { slowness_ = factor; }

 private:
  struct Outcome {
    Result<Applied> applied = Applied();
    std::optional<double> norm{};          // of the gradient, where it is measured
    std::optional<std::uint64_t> block{};  // of the state, where others hold it, too
  };
  struct GoingOn;
  // Parts that make one sum, computed one after the other by the executor; shared with it until
  // they are done.
  struct Run {
    model::Generation generation{};
    std::vector<Part> parts{};
    std::optional<Part> behind{};  // what comes after them, most likely
    bool evaluates = false;
    bool streams = false;                  // gradients come piece by piece
    std::vector<model::TreeNode> nodes{};  // whose sums this member makes
    bool sends_early = false;              // while they are made
    bool shares_soon = false;              // sums of some parts may be needed without the others
    double slowness = 1;
    // No part is begun any more; of those that go on behind it, too.
    std::shared_ptr<os::Flag> is_void = std::make_shared<os::Flag>();
    std::unique_ptr<GoingOn> going_on{};  // how, once there is a permit to
    os::Permit permit{};

    os::Tally begun{};  // parts
    Time part_began{};
    std::vector<double> speeds{};  // samples a second, of each part
    std::optional<Error> error{};  // of the part that was computed last
  };
  // What the executor does behind the parts of a run without asking: it applies the step, which is
  // this member's alone, and begins the next run.
  struct GoingOn {
    model::StepPlan plan;         // of the next run
    std::shared_ptr<Run> next{};  // null behind the last step
    std::optional<std::uint32_t> members_before{};
    model::StepRecordHeader record{};
    Numbers reduced{};
    Outcome outcome{};
    bool is_applied = false;
  };
  // A sum that is sent while it is computed.
  struct EarlySum {
    model::Generation generation;
    model::Step step;
    model::TreeNode node;
    ConstBytes bytes;
  };
  class SumsSink;

  bool is_alone() const;
  void begin_step();
  void set_plan(const model::StepPlan& plan);
  std::optional<model::StepPlan> plan_from(const model::Position& at) const;
  std::uint32_t filled_parts(const model::StepPlan& plan) const;
  void wait_for_samples();
  Part part_of(const model::StepPlan& plan, model::LogicalWorker v, std::uint64_t micro) const;
  std::optional<Part> part_behind(const model::StepPlan& plan,
                                  std::span<const model::LogicalWorker> missing) const;
  void compute_next();
  void tell_computing();
  std::shared_ptr<Run> run_of(const model::StepPlan& plan,
                              const std::vector<model::LogicalWorker>& missing) const;
  std::shared_ptr<Run> run_ahead();
  void start(std::shared_ptr<Run> run);
  void stop_run();
  void take_back_permit(Run& run);
  std::vector<model::TreeNode> own_nodes(std::uint32_t parts) const;
  bool advance(std::shared_ptr<Run>& run);
  bool compute_part(Run& run);
  void compute_for_nobody(const Run& run);
  Result<void> fill(const Run& run, const Part& part, GradientSink* gradients);
  void contribute_early(const EarlySum& sum, std::size_t segment, std::uint64_t offset);
  void computed(Run& run);
  void measure(const Run& run);
  void contribute();
  void reduce_alone();
  model::StepRecordHeader record_of(const model::StepPlan& plan) const;
  void begin_record(model::Step step);
  void on_reduced(model::Step step, const model::Digest& digest);
  double lr_factor(const model::StepRecordHeader& record) const;
  std::uint64_t seen(const model::StepRecordHeader& record) const;
  bool measures_noise(model::Step step) const;
  void measure_noise(double whole);
  std::optional<std::uint32_t> members_before(const model::StepRecordHeader& record) const;
  void apply_reduced();
  Outcome update(const model::StepRecordHeader& record, ConstBytes reduced,
                 std::optional<std::uint32_t> members_before);
  void applied(const Outcome& outcome);
  void permit_to_go_on(Duration took);
  bool go_on(std::shared_ptr<Run>& run);
  void went_on(GoingOn& by);
  model::Position after(const model::StepRecordHeader& record) const;

  os::System& system_;
  Executor& executor_;
  Trainee& trainee_;
  const membership::Rules rules_;
  const std::uint64_t seed_;
  const StepperEvents events_;
  const StepLayout layout_;
  Numbers reduced_;
  Numbers spare_;  // for a run that goes on
  collective::HostAdder adder_;
  collective::AllReduce all_reduce_;
  NodeSums sums_;  // belongs to the executor while there is a `run_`

  model::Position here_;
  model::StreamExtent extent_;  // when it is a stream
  bool lacks_samples_ = false;
  model::Crowd trained_by_;
  std::optional<model::View> view_;  // that it trains in
  model::Rank own_;
  std::vector<std::unique_ptr<collective::Link>> links_;
  std::optional<model::StepPlan> plan_;  // of what `sums_` holds
  bool begun_ = false;                   // the step, in this view
  std::shared_ptr<Run> run_;             // that is being computed, or waits behind what is applied
  bool applying_ = false;
  std::vector<model::TreeNode> contributed_;
  model::StepRecordHeader record_;
  std::uint64_t gone_on_ = 0;
  bool saves_ = false;
  Time last_completed_;
  std::deque<double> part_speeds_;  // in this view
  double speed_ = 0;
  StateBlocks blocks_;  // the executor's
  StateWatch watch_;
  batch::NoiseScale noise_;
  double slowness_ = 1;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::train
