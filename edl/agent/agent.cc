#include "edl/agent/agent.h"

#include <algorithm>

namespace edl::agent {
namespace {

// The leader asks for a successor every 5 s while it has a reason to.
constexpr Duration kSuccessorWished = 12s;

}  // namespace

Agent::Agent(os::System& system, AgentOptions options, AgentFace& face)
    : system_(system),
      options_(std::move(options)),
      face_(face),
      began_(system.now()),
      footing_(system_, options_, face_,
               {.on_entered = [this] { on_entered(); },
                .on_failed = [this](const Error& error) { fail(error); }}),
      oom_(system.disk()) {
  picture_.prefix = job_prefix(options_.launch.spec.name);
  starter_ = std::make_unique<WorkerStarter>(
      system_,
      WorkerStarterOptions{options_.argv, options_.environment, options_.paths.log("parent")});
  for (const os::Signal signal : {os::Signal::kInterrupt, os::Signal::kTerminate}) {
    system_.on_signal(signal, [this] { ask_to_stop(); });
  }
  footing_.begin();
}

void Agent::on_entered() {
  const Launch& launch = options_.launch;
  if (!footing_.is_guest()) {
    Json more{{"logical_workers", launch.logical_workers},
              {"batch", launch.batch.global},
              {"seed", launch.spec.seed},
              {"reproducible", launch.reproducible}};
    if (launch.memory) more["memory"] = *launch.memory;
    footing_.tell_started(more);
  }
  for (const std::string& warning : launch.warnings) {
    tell({{"event", "warning"}, {"host", options_.host}, {"reason", warning}});
    face_.say(warning);
  }
  follow();
}

void Agent::follow() {
  following_ = footing_.store().follow(picture_.prefix,
                                       [this](const Result<store::Fact>& fact) { on_fact(fact); });
}

void Agent::on_fact(const Result<store::Fact>& fact) {
  if (!fact.ok()) return fail(fact.error());
  picture_.take(*fact);
  if (fact->kind == store::Fact::Kind::kCurrent) current_ = true;
  const std::string members = picture_.prefix + "members/";
  if (fact->kind == store::Fact::Kind::kPut) {
    const std::string& key = fact->kv.key;
    if (key.starts_with(members)) note_member(key.substr(members.size()));
    if (key == picture_.prefix + "replace") successor_until_ = system_.now() + kSuccessorWished;
  }
  if (current_) act();
}

bool Agent::has_ended(const std::string& id) const {
  return std::any_of(old_ends_.begin(), old_ends_.end(),
                     [&](const auto& end) { return end.first == id; });
}

void Agent::note_member(const std::string& id) {
  for (const auto& [dead, member] : old_ends_) {
    // The last thing that it wrote came after we had said that it is gone.
    if (dead == id && picture_.is_alive(id)) return footing_.job().put("members/" + id, member);
  }
  // The budget of crashes is the job's: those on other machines count too.
  const auto worker = model::worker_from(picture_.members[id]);
  if (!current_ || !worker.ok() || !worker->exit || has_ended(id) || workers_.contains(id)) return;
  if (!foreign_ends_.insert(id).second) return;
  replacement_.ended({.id = id,
                      .exit_class = worker->exit->exit_class,
                      .reason = worker->reason,
                      .log = text("worker-", id, ".log on ", worker->host)},
                     system_.now());
}

// Compares what is with what should be, and does what is missing. Called after every change.
void Agent::act() {
  if (failing_) return;
  if (picture_.result.is_object()) return wind_down();
  if (ending_ && workers_.empty()) return finish(0);  // a guest that has left
  if (ending_ || !failure_.empty() || interrupts_ > 1 || !picture_.wanted) return;
  const bool stops = picture_.wanted->stop;  // who ends then is not needed any more
  if (replacement_.failure() && !stops) return write_failure(*replacement_.failure());
  choose_reporter();
  if (stops) {
    if (workers_.empty() && picture_.alive() == 0 && starting_ == 0) write_stop();
    return;
  }
  keep_share();
}

// Starts what is missing of our share, and sends away what is too much of it and in no view: whose
// successor has come, or a successor that is not needed any more.
void Agent::keep_share() {
  const std::string id = footing_.is_guest() ? footing_.claim() : "";
  std::uint32_t foreign = 0;
  for (const auto& [member, fields] : picture_.members) {
    const bool is_ours = workers_.contains(member) || has_ended(member);
    if (!is_ours && picture_.is_alive(member)) ++foreign;
  }
  const std::uint32_t wanted = picture_.wanted->workers;
  const std::uint32_t share = std::min(share_of(picture_, id), wanted - std::min(wanted, foreign)) +
                              (awaits_successor() ? 1 : 0);
  const auto ours = static_cast<std::uint32_t>(workers_.size()) + starting_;
  const Replacements answer = replacement_.decide(share, ours, system_.now());
  alarm_.cancel();
  if (answer.look_again) {
    alarm_ = system_.after(*answer.look_again - system_.now(), [this] { act(); });
  }
  if (answer.start > 0) start_workers(answer.start);
  if (ours > share) dismiss(ours - share);
}

bool Agent::awaits_successor() const {
  const std::string id = picture_.replaced_id();
  return workers_.contains(id) && picture_.in_view(id) && system_.now() < successor_until_;
}

void Agent::dismiss(std::uint32_t count) {
  if (!picture_.view) return;
  for (const auto& [id, worker] : workers_) {
    if (count == 0) return;
    if (picture_.in_view(id)) continue;
    --count;
    if (!worker->leaving) worker->ask_to_leave();
  }
}

// The member of ours with the lowest rank tells what happens, until it is none any more.
void Agent::choose_reporter() {
  if (!picture_.view || footing_.is_guest()) return;
  if (workers_.contains(reporter_) && picture_.in_view(reporter_)) return;
  for (const model::Member& member : picture_.view->members) {
    const auto worker = workers_.find(member.id);
    if (worker == workers_.end() || !worker->second->running()) continue;
    reporter_ = member.id;
    const ReportFrom from = footing_.log().report_from();
    return worker->second->send(train::ParentFrame::kReport,
                                {{"from_step", from.step}, {"from_generation", from.generation}});
  }
}

void Agent::ask_to_stop() {
  ++interrupts_;
  if (interrupts_ > 1 || !current_) {
    face_.say("Killing the workers.");
    for (const auto& [id, worker] : workers_) worker->signal(os::Signal::kKill);
    return fail(
        {Code::kUnavailable, text("stopped without a checkpoint; edl resume ",
                                  options_.launch.spec.name, " goes on from the last one")});
  }
  if (footing_.is_guest()) {
    return leave_job("Leaving the job. Ctrl-C again kills the workers here.");
  }
  face_.say("Stopping after a checkpoint. Ctrl-C again kills the workers.");
  footing_.ask_to_stop();
}

}  // namespace edl::agent
