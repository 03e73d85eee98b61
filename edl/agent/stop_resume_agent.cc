#include "edl/agent/stop_resume_agent.h"

#include <algorithm>

#include "edl/agent/loose_fields.h"

namespace edl::agent {
namespace {

// A worker whose agent is gone is ended by its guard within the grace and a moment.
constexpr Duration kLostMargin = 10s;
constexpr std::size_t kPutsMax = 100;  // in one transaction

}  // namespace

StopResumeAgent::StopResumeAgent(os::System& system, AgentOptions options, AgentFace& face)
    : system_(system),
      options_(std::move(options)),
      face_(face),
      began_(system.now()),
      footing_(system_, options_, face_,
               {.on_entered = [this] { on_entered(); },
                .on_failed = [this](const Error& error) { fail(error); },
                .on_registered =
                    [this](bool registered) {
                      registered_ = registered;
                      act();
                    }}),
      oom_(system.disk()),
      crew_(options_.grace),
      rounds_(options_.grace + kLostMargin) {
  picture_.prefix = job_prefix(options_.launch.spec.name);
  for (const os::Signal signal : {os::Signal::kInterrupt, os::Signal::kTerminate}) {
    system_.on_signal(signal, [this] { ask_to_stop(); });
  }
  guard_ = std::make_unique<WorkerGuard>(
      system_,
      WorkerGuardOptions{.program = options_.edl,
                         .lock = footing_.is_guest() ? "" : options_.paths.workers_lock(),
                         .log = options_.paths.log("guard"),
                         .grace = options_.grace},
      WorkerGuard::Callbacks{.on_ready = [this] { act(); },
                             .say = [this](const std::string& words) { face_.say(words); }});
  footing_.begin();
}

void StopResumeAgent::on_entered() {
  if (!footing_.is_guest()) {
    footing_.tell_started({{"logical_workers", nullptr},
                           {"batch", nullptr},
                           {"seed", nullptr},
                           {"mode", model::name(options_.launch.spec.mode)}});
    registration_ = std::make_unique<store::Registration>(
        footing_.store(), store::RegistrationOptions{.key = footing_.job().key("agent"),
                                                     .value = json_line({{"host", options_.host},
                                                                         {"pid", options_.pid}})});
  }
  following_ = footing_.store().follow(picture_.prefix,
                                       [this](const Result<store::Fact>& fact) { on_fact(fact); });
}

void StopResumeAgent::on_fact(const Result<store::Fact>& fact) {
  if (!fact.ok()) return fail(fact.error());
  picture_.take(*fact);
  if (fact->kind == store::Fact::Kind::kPut) {
    if (fact->kv.key == picture_.prefix + "view") take_round();
    mend_end(fact->kv.key);
  }
  if (fact->kind == store::Fact::Kind::kCurrent && !std::exchange(current_, true)) {
    // Rounds of an earlier run are over. A guest is a new one each time, and may have been given
    // workers before it looked.
    if (!footing_.is_guest()) crew_.begin_after(generation());
  }
  if (current_) act();
}

void StopResumeAgent::take_round() {
  auto round = round_from(picture_.round);
  if (!round.ok()) {
    return face_.say(text("The round in the store cannot be read: ", round.error().message, "."));
  }
  const bool is_new = !round_ || round->view.generation > round_->view.generation;
  round_ = std::move(round).value();
  if (!is_new || !current_) return;
  ends_.clear();
  if (footing_.is_guest()) return;
  publishing_ = false;
  published_ = system_.now();
  tell(round_event(*round_));
  // Those of the rounds before interest nobody any more.
  for (const auto& [id, member] : picture_.members) {
    if (!picture_.in_view(id)) footing_.job().remove("members/" + id);
  }
}

// What was written first may arrive last, after the store was away: an end stays an end.
void StopResumeAgent::mend_end(const std::string& key) {
  const std::string members = picture_.prefix + "members/";
  if (!key.starts_with(members)) return;
  const std::string id = key.substr(members.size());
  const auto end = ends_.find(id);
  if (end != ends_.end() && picture_.is_alive(id)) footing_.job().put("members/" + id, end->second);
}

std::uint64_t StopResumeAgent::generation() const {
  return round_ ? round_->view.generation.value() : 0;
}

std::uint64_t StopResumeAgent::announced() const {
  return std::max(announced_, number(picture_.change, "generation"));
}

// Compares what is with what should be, and does what is missing. Called after every change.
void StopResumeAgent::act() {
  if (over_ || !current_ || interrupts_ > 1) return;
  keep_crew();
  if (picture_.result.is_object()) return wind_down();
  if (leaving_ && workers_.empty()) return finish(0);
  if (!footing_.is_guest()) lead();
}

void StopResumeAgent::wind_down() {
  if (!workers_.empty()) return;
  const auto end = footing_.tell_end(picture_.result);
  if (end.ok()) return finish(0);
  failure_ = end.error().message;
  finish(1);
}

void StopResumeAgent::ask_to_stop() {
  ++interrupts_;
  const std::string& name = options_.launch.spec.name;
  if (interrupts_ > 1 || !current_) {
    face_.say("Killing the workers.");
    for (const auto& [id, worker] : workers_) kill(id);
    return fail({Code::kUnavailable, text("stopped without time to save; edl resume ", name,
                                          " starts it again from what its program has saved")});
  }
  if (footing_.is_guest()) return leave_job();
  face_.say(text("Stopping: workers have ", options_.grace,
                 " to save and end. Ctrl-C again kills them."));
  footing_.ask_to_stop();
}

// A guest goes: its workers end, and the round that follows is without it.
void StopResumeAgent::leave_job() {
  face_.say("Leaving the job. Ctrl-C again kills the workers here.");
  footing_.ask_for_fewer([this] {
    footing_.leave([this] {
      leaving_ = true;
      act();
    });
  });
}

void StopResumeAgent::fail(const Error& error) {
  if (over_) return;
  failure_ = error.message;
  finish(1);
}

void StopResumeAgent::finish(int code) {
  if (std::exchange(over_, true)) return;
  following_.cancel();
  crew_alarm_.cancel();
  round_alarm_.cancel();
  const auto end = [this, code] { footing_.finish(code, !workers_.empty() && interrupts_ < 2); };
  if (registration_ && code == 0) return registration_->leave(end);
  if (!leaving_ || code != 0) return end();
  tell_ends(end);
}

// The others wait for the ends of a guest's workers, so they are told for certain.
void StopResumeAgent::tell_ends(const std::function<void()>& done) {
  if (ends_.empty()) return done();
  store::Change ends;
  while (!ends_.empty() && ends.puts.size() < kPutsMax) {
    const auto first = ends_.begin();
    ends.puts.push_back(
        {footing_.job().key("members/" + first->first), json_line(first->second), 0});
    ends_.erase(first);
  }
  footing_.job().change(ends, [this, done](bool) { tell_ends(done); });
}

}  // namespace edl::agent
