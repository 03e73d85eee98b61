// Where a worker's state comes from: the disk, the members, or the program itself.
#include "edl/train/beginning.h"
#include "edl/train/worker.h"

namespace edl::train {
namespace {

constexpr Duration kCopyLateMax = 1s;  // that a joiner waits for the first step of a view
constexpr std::size_t kPageBytes = 4096;

// New memory comes page by page, at the first write to each. What lies there stays.
void touch(ByteSpan memory) {
  for (std::size_t at = 0; at < memory.size(); at += kPageBytes) {
    volatile std::byte& one = memory[at];
    one = static_cast<std::byte>(one);
  }
}

void touch(const std::vector<std::shared_ptr<RecordCopy>>& records) {
  for (const auto& record : records) touch({record->numbers.get(), record->size});
}

}  // namespace

void Worker::act(const membership::GetState& get) {
  events_.state(get.from.empty() ? model::WorkerState::kStarting : model::WorkerState::kJoining,
                get.from.empty() ? "it loads its state" : "it gets the state from the members");
  ++state_number_;
  next_state_ = get;
  if (!filling_) fill_when_idle();
}

// The program may still work on the state that was dropped: nobody writes into it before that has
// ended, and never two at a time.
void Worker::fill_when_idle() {
  filling_ = true;
  os::Task fill = [this] {
    filling_ = false;
    const auto get = std::exchange(next_state_, std::nullopt);
    if (!get || ended_) return;
    if (get->from.empty()) return load_from_disk();
    joiner_.start(get->from, get->at);
  };
  if (next_state_->from.empty()) is_warm_ = true;  // who begins a job has nobody who waits for it
  warm_up();
  training_.run([] {}, std::move(fill));
}

// Others will wait for the first step of who joins them.
void Worker::warm_up() {
  if (std::exchange(is_warm_, true)) return;
  training_.run(
      [state = trainee_.state(), records = joiner_.make_room()] {
        for (const StateTensor& tensor : state) touch(tensor.bytes);
        touch(records);
      },
      [] {});
  stepper_.rehearse();
}

void Worker::load_from_disk() {
  filling_ = true;
  const std::uint64_t number = state_number_;
  keeper_.load(trainee_.state(), recorded_, [this, number](Result<Loaded> loaded) {
    filling_ = false;
    if (next_state_) fill_when_idle();
    if (number != state_number_ || ended_) return;
    if (!loaded.ok()) return end(1, loaded.error().message);
    for (const std::string& reason : loaded->passed_over) {
      log_.warn("a checkpoint is passed over", {{"why", reason}});
    }
    kept_steps_ = loaded->kept_steps;
    auto outcome = std::make_shared<Result<void>>();
    const bool is_fresh = !loaded->state.has_value();
    const checkpoint::State state = loaded->state.value_or(checkpoint::State());
    if (!is_fresh) tell_terms(state);
    training_.run(
        [this, outcome, is_fresh] {
          if (is_fresh) {
            *outcome = begin(system_.disk(), trainee_, {options_.seed, options_.init});
          } else {
            trainee_.loaded();
          }
        },
        [this, outcome, state, number] {
          if (number != state_number_ || ended_) return;
          if (!outcome->ok()) return end(1, outcome->error().message);
          ready(state);
        });
  });
}

// Before the first step nothing was trained with them.
void Worker::tell_terms(const checkpoint::State& state) {
  if (state.position.step == model::Step()) return;
  membership_.on_terms({state.batch.global, {state.lr_factor, state.ramp}});
}

void Worker::on_loaded(const checkpoint::State& state, Bytes ledger) {
  tell_terms(state);
  keeper_.begin_ledger(std::move(ledger));
  const std::uint64_t number = state_number_;
  training_.run([this] { trainee_.loaded(); },
                [this, number, state] {
                  if (number != state_number_ || ended_) return;
                  reporter_.restart_at(state.position.step);
                  ready(state);
                  joiner_.applied(state.position.step);
                });
}

void Worker::ready(const checkpoint::State& state) {
  const model::Position& here = state.position;
  stepper_.set_position(here, state.trained_by);
  unstable_.clear();
  stable_ = here.step;
  after_stable_ = here;
  saves_at_ = std::min(saves_at_, here.step);
  reporter_.forget_after(here.step);
  giver_.on_loaded(here.step);
  membership_.on_state(here);
}

checkpoint::State Worker::state_facts() const {
  checkpoint::State state;
  state.position = stepper_.here();
  state.seed = options_.seed;
  state.logical_workers = options_.membership.rules.logical_workers;
  state.batch = view_ ? view_->batch : options_.membership.rules.batch_of(1);
  if (view_) state.lr_factor = view_->lr_factor;
  if (view_) state.ramp = view_->ramp;
  if (view_) state.generation = view_->generation;
  state.trained_by = stepper_.trained_by();
  state.fingerprint = options_.fingerprint;
  return state;
}

// What nobody else holds any more is used again: memory that is new takes far longer than the copy.
std::shared_ptr<checkpoint::StateCopy> Worker::free_copy() {
  if (state_copy_.use_count() != 1) state_copy_ = std::make_shared<checkpoint::StateCopy>();
  return state_copy_;
}

// Answers come in the order of the work, so when this one comes, `here` is still where the copy was
// made.
void Worker::copy_state(CopyDone done) {
  auto copy = free_copy();
  auto outcome = std::make_shared<Result<void>>();
  training_.run([this, copy, outcome] { *outcome = copy->take(as_tensors(trainee_.state()), {}); },
                [this, copy, outcome, done = std::move(done)] {
                  if (!outcome->ok()) {
                    log_.error("cannot copy the state", {{"why", outcome->error().message}});
                    return done(nullptr);
                  }
                  copy->set_state(state_facts());
                  done(copy);
                });
}

// A joiner can wait until there is room for a copy, and for the records behind it.
void Worker::copy_for_joiner(CopyDone done) {
  files_.run(
      [copy = free_copy(), tensors = as_tensors(trainee_.state()),
       records = giver_.make_room(stepper_.reduced().size())] {
        copy->make_room(tensors);
        touch(records);
      },
      [this, number = state_number_, done = std::move(done)]() mutable {
        if (ended_ || number != state_number_) return done(nullptr);
        copy_after_first_step(std::move(done));
      });
}

// The first step of a view cannot wait: all wait for it, and a copy of a large state takes as long
// as several parts.
void Worker::copy_after_first_step(CopyDone done) {
  const bool is_first_step =
      stepper_.is_in_view() && view_ && stepper_.here().step < view_->first_step;
  if (!is_first_step || stepper_.lacks_samples()) return copy_state(std::move(done));
  late_copies_.push_back(std::move(done));
  if (late_copies_.size() == 1) {
    copying_late_ = system_.after(kCopyLateMax, [this] { make_late_copies(); });
  }
}

void Worker::make_late_copies() {
  for (CopyDone& done : std::exchange(late_copies_, {})) copy_state(std::move(done));
}

}  // namespace edl::train
