#include "edl/train/worker.h"

#include <algorithm>

namespace edl::train {
namespace {

constexpr Duration kTick = 1s;
constexpr Duration kAloneMax = 60s;  // in no view and without the store

}  // namespace

Worker::Worker(os::System& system, store::Store& store, Places places, Trainee& trainee,
               WorkerOptions options, WorkerEvents events)
    : system_(system),
      store_(store),
      training_(places.training),
      files_(places.files),
      trainee_(trainee),
      options_(std::move(options)),
      events_(std::move(events)),
      log_(system.log().room("train")),
      catalog_(make_catalog()),
      membership_(
          system, store, options_.membership,
          {.act = [this](const membership::Action& action) { act(action); },
           .frame = [this](const model::WorkerId& from,
                           const wire::Frame& frame) { on_frame(from, frame); },
           .bulk = [this](const model::WorkerId& from, const wire::Header& header,
                          std::uint64_t offset,
                          ConstBytes piece) { on_bulk(from, header, offset, piece); },
           .bulk_place = [this](const model::WorkerId& from, const wire::Header& header,
                                std::uint64_t offset) { return bulk_place(from, header, offset); },
           .link =
               [this](const model::WorkerId& id, bool up) {
                 if (up) return;
                 giver_.forget(id);
                 joiner_.on_link_lost(id);
               },
           .key = [this](const std::string& name,
                         const std::string& value) { on_key(name, value); },
           .beside_view = [this](const model::View& view) { return beside_view(view); },
           .phase =
               [this](model::FaultPhase phase) {
                 if (phase == model::FaultPhase::kPromise) pause_.prepared(system_.now());
                 drill_.enter(phase, stepper_.here().step);
               }}),
      stepper_(system, places.training, trainee, options_.membership.rules, options_.seed,
               {.applying = [this](model::Step) { membership_.on_applying(); },
                .not_applied = [this] { membership_.on_not_applied(); },
                .reduced = [this] { giver_.on_reduced(stepper_.record(), stepper_.reduced()); },
                .completed = [this](const model::Position& here,
                                    Duration took) { on_completed(here, took); },
                .stable =
                    [this](model::Step step) {
                      giver_.on_overwriting();
                      on_stable(step);
                    },
                .violated =
                    [this](model::Rank rank, const Error& error) {
                      if (view_) refuse(view_->members[rank.value()].id, error);
                    },
                .wants = [this](std::uint64_t samples) { catalog_->want(samples); },
                .failed = [this](model::Step step, std::optional<model::LogicalWorker> v,
                                 const Error& error) { on_program_failed(step, v, error); },
                .computed = [this](const Part& part,
                                   model::Generation generation) { trace(part, generation); },
                .phase = [this](Phase phase, model::Step step) { drill_.enter(phase, step); },
                .shares_soon = [this] { return giver_.is_giving(); },
                .goes_on = [this] { return !drill_.is_armed() && core().is_undisturbed(); }}),
      keeper_(system, places.files, options_.dir, options_.membership.id),
      giver_(membership_.mesh(), state_layout(trainee.state()),
             {.copy_state = [this](auto done) { copy_for_joiner(std::move(done)); },
              .copy_ledger = [this](model::Step step,
                                    auto done) { keeper_.copy_ledger(step, std::move(done)); },
              .serving = [this] { drill_.enter(Phase::kSnapshot, stepper_.here().step); }}),
      joiner_(membership_.mesh(), trainee.state(), stepper_.reduced().size(),
              {.loaded = [this](const checkpoint::State& state,
                                Bytes ledger) { on_loaded(state, std::move(ledger)); },
               .apply =
                   [this](RecordCopy& record) {
                     drill_.enter(Phase::kReplay, record.header.step);
                     giver_.on_overwriting();
                     const auto applied = stepper_.apply(record);
                     if (!applied.ok()) membership_.on_no_state(applied.error().message);
                   },
               .holds_still = [this] { return core().holds_still(); },
               .failed = [this](const std::string& reason) { membership_.on_no_state(reason); }}),
      drill_(system, options_.dir, options_.membership.id, options_.faults,
             {.stop = [this](std::size_t number,
                             const model::Fault& fault) { events_.stop_me(number, fault); },
              .slow = [this](double factor) { stepper_.slow_down(factor); },
              .cut = [this](const model::WorkerId& id) { membership_.mesh().cut(id); }}),
      patience_(options_.patience),
      started_(system.now()),
      store_seen_(system.now()),
      interval_(options_.checkpoint, system.now(), model::Step()) {}

Worker::~Worker() { *alive_ = false; }

std::unique_ptr<Catalog> Worker::make_catalog() {
  Stream* const stream = trainee_.stream();
  if (stream == nullptr) return nullptr;
  const membership::JobKeys keys(options_.membership.job);
  return std::make_unique<Catalog>(
      system_, store_, training_, *stream, keys.prefix(),
      Catalog::Events{.grown = [this] { stepper_.set_extent(catalog_->extent()); },
                      .failed =
                          [this](const Error& error) {
                            // Of a part: when another finds the same, the job ends with this.
                            on_program_failed(stepper_.here().step.next(), model::LogicalWorker(0),
                                              error);
                          }});
}

void Worker::on_program_failed(model::Step step, std::optional<model::LogicalWorker> v,
                               const Error& error) {
  log_.error("the program failed", {{"step", step}, {"why", error.message}});
  events_.died(step, v, error.message);
  end(1, text("the program failed in step ", step, ": ", error.message));
}

void Worker::on_hanging(const Doing& at, Duration since) {
  events_.hangs();
  const std::string what = at.v ? text("part ", *at.v) : "its update";
  if (patience_.is_hurried()) {
    return end(1, text("it was to end, and has been at ", what, " for ", since, " since"));
  }
  on_program_failed(at.step, at.v,
                    {Code::kTimeout, text("it has been at ", what, " for ", since,
                                          ", so it is taken to hang: its data, forward or a hook "
                                          "wait for what does not come. A longer --part-limit "
                                          "gives it more time")});
}

void Worker::start() {
  if (options_.joins) warm_up();
  if (!options_.trace_path.empty()) {
    auto trace = data::TraceSamples::open(system_.disk(), options_.trace_path);
    if (!trace.ok()) return end(1, trace.error().message);
    trace_ = std::make_unique<data::TraceSamples>(std::move(trace).value());
  }
  keeper_.open([this](const Result<void>& opened) {
    if (!opened.ok()) {
      return end(1, text("cannot keep a ledger in ", options_.dir, ": ", opened.error().message));
    }
    const auto begun = membership_.start();
    if (!begun.ok()) return end(1, begun.error().message);
    tick();
  });
}

void Worker::leave(model::Cause cause) {
  // Its agent is gone, and nobody else would end it.
  if (cause == model::Cause::kLeave) patience_.hurry(options_.grace);
  events_.state(model::WorkerState::kLeaving, text("it was asked to leave: ", name(cause)));
  membership_.on_leave(cause);
}

void Worker::act(const membership::Action& action) {
  if (ended_) return;
  if (const auto* left = std::get_if<membership::LeaveCollective>(&action)) return act(*left);
  if (const auto* enter = std::get_if<membership::EnterView>(&action)) return act(*enter);
  if (const auto* get = std::get_if<membership::GetState>(&action)) return act(*get);
  if (const auto* drop = std::get_if<membership::DropState>(&action)) return act(*drop);
  if (const auto* warn = std::get_if<membership::Warn>(&action)) return act(*warn);
  if (const auto* halt = std::get_if<membership::Halt>(&action)) return act(*halt);
  if (const auto* take = std::get_if<membership::TakeRecord>(&action)) {
    pause_.handing_over(system_.now());
    return joiner_.take_record(take->from, take->step, stepper_.here().step);
  }
  if (std::holds_alternative<membership::DropRecord>(action)) return joiner_.drop_record();
  if (const auto* exit = std::get_if<membership::Exit>(&action)) return end(0, exit->reason);
}

void Worker::act(const membership::LeaveCollective& left) {
  pause_.noticed(system_.now());
  log_.info("leaves the collective", {{"why", left.reason}});
  stepper_.leave();
  make_late_copies();
  if (catalog_) catalog_->rest();
}

void Worker::act(const membership::EnterView& enter) {
  const model::View& view = enter.view;
  const model::Rank own = *view.rank_of(options_.membership.id);
  std::uint32_t moved = 0;
  if (view_) {
    for (std::uint32_t v = 0; v < view.logical_workers(); ++v) {
      const model::WorkerId& now =
          view.members[view.carrier_of(model::LogicalWorker(v))->value()].id;
      const auto before = view_->carrier_of(model::LogicalWorker(v));
      if (!before || view_->members[before->value()].id != now) ++moved;
    }
  }
  const std::uint64_t before = view.first_step.value() - 1;
  const bool all_were_lost = view.cause == model::Cause::kResume && kept_steps_ > before;
  pause_.entered(system_.now(), {.cause = view.cause,
                                 .parts_redone = moved,
                                 .steps_lost = all_were_lost ? kept_steps_ - before : 0});
  joiner_.cancel();
  view_ = view;
  ++halts_;
  giver_.set_halted(!view.halt.empty());
  keeper_.add_view(view);
  on_stable(model::Step(view.first_step.value() - 1));
  if (view.halt.empty() || view.halt == "waiting") report_view(view);
  events_.state(model::WorkerState::kMember, text("rank ", own, " of view ", view.generation));
  if (!view.halt.empty()) return;
  std::vector<wire::Connection*> links;
  for (const model::Member& member : view.members) {
    links.push_back(member.id == options_.membership.id ? nullptr
                                                        : membership_.mesh().connection(member.id));
  }
  // A link that is down leaves this view again at once; membership has noticed it already.
  for (std::size_t rank = 0; rank < links.size(); ++rank) {
    if (links[rank] == nullptr && rank != own.value()) return;
  }
  if (trainee_.follows_views()) {
    training_.run([this, entered = EnteredView{view, own, core().leader(),
                                               options_.dir}] { trainee_.entered(entered); },
                  [] {});
  }
  stepper_.enter(view, own, std::move(links));
}

void Worker::act(const membership::DropState& drop) {
  log_.info("drops its state", {{"why", drop.reason}});
  ++state_number_;
  ++halts_;
  next_state_.reset();
  view_.reset();
  under_way_.reset();
  stepper_.leave();
  joiner_.cancel();
  giver_.forget_all();
  for (const CopyDone& done : std::exchange(late_copies_, {})) done(nullptr);
  unstable_.clear();
  reporter_.forget_after(stable_);
  events_.state(model::WorkerState::kSpare, drop.reason);
}

void Worker::on_frame(const model::WorkerId& from, const wire::Frame& frame) {
  if (frame.header.type != kTransferMessage) {
    return refuse(from, {Code::kInvalid, text("a message of unknown type ", frame.header.type)});
  }
  const auto kind = frame.body.is_object() ? frame.body.value("kind", Json()) : Json();
  const bool for_joiner =
      kind == "state" || kind == "record" || kind == "stable" || kind == "no_record";
  const auto taken =
      for_joiner ? joiner_.on_message(from, frame.body) : giver_.on_message(from, frame.body);
  if (!taken.ok()) refuse(from, taken.error());
}

void Worker::on_bulk(const model::WorkerId& from, const wire::Header& header, std::uint64_t offset,
                     ConstBytes piece) {
  if (header.type >= kStateBytes) {
    const auto taken = joiner_.on_bulk(from, header, offset, piece);
    if (!taken.ok()) refuse(from, taken.error());
    return;
  }
  if (!view_ || header.generation != view_->generation) return;
  const auto rank = view_->rank_of(from);
  if (!rank) return;
  const auto taken = stepper_.on_bulk(*rank, header, offset, piece);
  if (!taken.ok()) refuse(from, taken.error());
}

ByteSpan Worker::bulk_place(const model::WorkerId& from, const wire::Header& header,
                            std::uint64_t offset) {
  if (header.type >= kStateBytes || !view_ || header.generation != view_->generation) return {};
  const auto rank = view_->rank_of(from);
  return rank ? stepper_.bulk_place(*rank, header, offset) : ByteSpan();
}

// Who breaks the protocol is not talked to any more.
void Worker::refuse(const model::WorkerId& from, const Error& error) {
  log_.error("a worker broke the protocol", {{"worker", from}, {"why", error.message}});
  membership_.mesh().cut(from);
}

void Worker::on_key(const std::string& name, const std::string& value) {
  if (name == "result") end(0, "the job has its result");
  if (catalog_) catalog_->on_key(name, value);
  if (name != "checkpoint" && name != "save") return;
  const auto json = parse_json(value);
  if (!json.ok()) return;
  if (name == "checkpoint") return on_checkpoint_key(*json);
  on_save_key(*json);
}

void Worker::end(int code, const std::string& reason) {
  if (ended_) return;
  ended_ = true;
  flush_reports();
  stepper_.leave();
  log_.info("ends", {{"code", code}, {"why", reason}});
  events_.exit(code, reason);
}

void Worker::tick() {
  const Time now = system_.now();
  if (membership_.store_is_near() || core().is_member()) store_seen_ = now;
  if (now - store_seen_ > kAloneMax) {
    return end(1, text("is in no view and has not reached the store for ", kAloneMax));
  }
  if (core().wanted().stop) patience_.hurry(options_.grace);
  const std::optional<Doing> doing = stepper_.doing();
  if (const auto since = patience_.second(doing)) return on_hanging(*doing, *since);
  if (core().leads()) write_progress();
  ticking_ = system_.after(kTick, [this] { tick(); });
}

void Worker::report_from(model::Step step, model::Generation generation) {
  reporter_.tell_from(step, generation);
  flush_reports();
}

}  // namespace edl::train
