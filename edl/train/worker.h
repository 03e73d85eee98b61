// A worker's life: it finds its job in the store, gets a state, trains as a member of one view
// after another, gives states to others, keeps what must be kept, and leaves when it has to.
// Framework-free: what it trains is a Trainee.
//
// On the loop's thread. The trainee's calls run in one executor, disks in another.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "edl/checkpoint/interval.h"
#include "edl/data/trace_samples.h"
#include "edl/membership/membership.h"
#include "edl/model/job.h"
#include "edl/model/worker.h"
#include "edl/train/catalog.h"
#include "edl/train/drill.h"
#include "edl/train/joiner.h"
#include "edl/train/keeper.h"
#include "edl/train/patience.h"
#include "edl/train/pause.h"
#include "edl/train/reporter.h"
#include "edl/train/stepper.h"

namespace edl::train {

struct WorkerOptions {
  membership::MembershipOptions membership;  // job, id, address, secret, rules
  std::string dir{};
  std::uint64_t seed = 0;
  std::optional<model::WeightsFile> init{};
  checkpoint::IntervalRule checkpoint{};
  Patience patience{};
  Duration grace = 30s;      // for a part under way when the worker is to end
  std::string trace_path{};  // empty: none
  std::vector<model::Fault> faults{};
  Json fingerprint{};      // of this process, which is the job's
  double job_started = 0;  // wall time in seconds; 0: with this worker
  bool joins = false;      // others train already, most likely
};

struct WorkerEvents {
  std::function<void(std::vector<Report>)> events;
  std::function<void(model::WorkerState, const std::string& reason)> state;
  std::function<void(std::size_t fault, const model::Fault&)> stop_me;
  std::function<void(model::Step, std::optional<model::LogicalWorker>, const std::string&)> died;
  // The program hangs, and so its thread will not end.
  std::function<void()> hangs;
  // Nothing more is to be done; the process ends with this code.
  std::function<void(int code, const std::string& reason)> exit;
};

class Worker {
 public:
  struct Places {
    Executor& training;
    Executor& files;
  };
  Worker(os::System& system, store::Store& store, Places places, Trainee& trainee,
         WorkerOptions options, WorkerEvents events);
  ~Worker();

  void start();
  void leave(model::Cause cause);
  // The agent says that another worker of its own has ended.
  void on_gone(const model::WorkerId& id) { membership_.on_gone(id); }
  void report_from(model::Step step, model::Generation generation);

  const membership::Core& core() const { return membership_.core(); }
  const Stepper& stepper() const { return stepper_; }
  model::Step stable() const { return stable_; }

 private:
  using OnWritten = std::function<void(Result<checkpoint::Written>)>;
  // When a copy of the state was made, for a checkpoint.
  struct Copied {
    std::uint64_t state_number = 0;  // of the state that was copied
    std::uint64_t answers = 0;       // the newest wish for a checkpoint by then
    Duration stall{};
  };
  struct CheckpointUnderWay {
    std::shared_ptr<checkpoint::StateCopy> copy;
    Copied copied{};
    OnWritten done;
  };

  // What membership decides (worker.cc).
  void act(const membership::Action& action);
  void act(const membership::LeaveCollective& leave);
  void act(const membership::EnterView& enter);
  void act(const membership::GetState& get);
  void act(const membership::Warn& warn);
  void act(const membership::DropState& drop);
  void act(const membership::Halt& halt);
  void on_frame(const model::WorkerId& from, const wire::Frame& frame);
  void on_bulk(const model::WorkerId& from, const wire::Header& header, std::uint64_t offset,
               ConstBytes piece);
  ByteSpan bulk_place(const model::WorkerId& from, const wire::Header& header,
                      std::uint64_t offset);
  void on_key(const std::string& name, const std::string& value);
  void on_program_failed(model::Step step, std::optional<model::LogicalWorker> v,
                         const Error& error);
  void on_hanging(const Doing& at, Duration since);
  std::unique_ptr<Catalog> make_catalog();
  void refuse(const model::WorkerId& from, const Error& error);
  void end(int code, const std::string& reason);
  void tick();

  // Getting a state (worker_state.cc).
  void warm_up();
  void fill_when_idle();
  void load_from_disk();
  void tell_terms(const checkpoint::State& state);
  void on_loaded(const checkpoint::State& state, Bytes ledger);
  void ready(const checkpoint::State& state);
  using CopyDone = std::function<void(std::shared_ptr<checkpoint::StateCopy>)>;
  std::shared_ptr<checkpoint::StateCopy> free_copy();
  void copy_state(CopyDone done);
  void copy_for_joiner(CopyDone done);
  void copy_after_first_step(CopyDone done);
  void make_late_copies();
  checkpoint::State state_facts() const;

  // Steps (worker_step.cc).
  void on_completed(const model::Position& here, Duration took);
  void on_stable(model::Step step);
  void report_step(const model::StepRecordHeader& record, Duration took);
  void report_view(const model::View& view);
  void choose_batch();
  void report_evaluation(const model::StepRecordHeader& record);
  void evaluate_last(std::function<void()> done);
  Json metric_event(const model::Position& after, const std::string& name, double value) const;
  void trace(const Part& part, model::Generation generation);
  void flush_reports();
  void write_progress();
  std::optional<double> seconds_left() const;

  // Checkpoints and the end (worker_end.cc).
  void checkpoint_if_due();
  std::string due_reason() const;
  void on_checkpoint_key(const Json& value);
  void on_save_key(const Json& value);
  void write_checkpoint(OnWritten done);
  void write_when_stable();
  void record_checkpoint(const checkpoint::Written& written, const Copied& copied, OnWritten done);
  Json checkpoint_value(const std::vector<checkpoint::Recorded>& recorded,
                        std::uint64_t answers) const;
  void finish(const membership::Halt& halt);
  void put_result(const membership::Halt& halt, const checkpoint::Written& written);
  std::vector<store::Change::Put> beside_view(const model::View& view) const;

  os::System& system_;
  store::Store& store_;
  Executor& training_;
  Executor& files_;
  Trainee& trainee_;
  const WorkerOptions options_;
  const WorkerEvents events_;
  const Log log_;
  std::unique_ptr<Catalog> catalog_;  // of a stream
  membership::Membership membership_;
  Stepper stepper_;
  Keeper keeper_;
  Giver giver_;
  Joiner joiner_;
  Drill drill_;
  Reporter reporter_;
  Patience patience_;
  std::shared_ptr<checkpoint::StateCopy> state_copy_;  // the last one that was taken
  PauseClock pause_;
  std::vector<CopyDone> late_copies_;  // for joiners, once a view's first step is completed
  os::Pending copying_late_;
  std::unique_ptr<data::TraceSamples> trace_;

  std::optional<model::View> view_;
  std::deque<model::StepRecordHeader> unstable_;  // completed
  model::Step stable_;
  model::Position after_stable_;    // where the step after it begins
  std::uint64_t state_number_ = 0;  // each time the state is replaced
  std::uint64_t kept_steps_ = 0;    // stable ones that ledgers had when the state was loaded
  bool filling_ = false;            // a state's memory is being written, or is about to be
  bool is_warm_ = false;            // or is about to be: nothing is done for the first time
  std::optional<membership::GetState> next_state_;  // to get once that has ended
  bool ended_ = false;
  Time started_;
  Time store_seen_;
  model::Step batch_chosen_at_;  // under adaptive
  double last_loss_ = 0;
  double speed_ = 0;  // samples a second, smoothed
  model::NamedNumbers metrics_;

  std::vector<checkpoint::Recorded> recorded_;  // ascending
  // Wishes of `edl checkpoint` have numbers: the newest one, and up to which they are fulfilled.
  std::uint64_t wish_ = 0;
  std::uint64_t fulfilled_ = 0;
  model::Step saves_at_;  // the last step after which the program asked for one
  Time wishes_wait_until_;
  checkpoint::Interval interval_;
  std::optional<CheckpointUnderWay> under_way_;
  bool writing_ = false;
  std::uint64_t halts_ = 0;
  os::Pending recording_;
  os::Pending resulting_;
  os::Pending progressing_;
  os::Pending ticking_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::train
