// An agent of mode stop-resume and its workers: how they start and end.
#include <algorithm>

#include "edl/agent/stop_resume_agent.h"
#include "edl/train/parent_frame.h"

namespace edl::agent {

void StopResumeAgent::keep_crew() {
  crew_alarm_.cancel();
  if (!guard_->ready()) return;
  const CrewOrders orders{
      .generation = generation(),
      .workers = round_ ? workers_of(*round_, agent_id()) : std::vector<model::WorkerId>(),
      .stop = must_stop()};
  const CrewActions actions = crew_.decide(orders, system_.now());
  for (const model::WorkerId& id : actions.terminate) terminate(id);
  for (const model::WorkerId& id : actions.kill) kill(id);
  for (const model::WorkerId& id : actions.start) start_worker(id);
  for (const model::WorkerId& id : actions.skip) {
    on_end(id, {}, {model::ExitClass::kLeft, "It was not started: a change came first."}, true);
  }
  if (actions.look_again) {
    crew_alarm_ = system_.after(*actions.look_again - system_.now(), [this] { act(); });
  }
}

// A guest that cannot be seen, or that nobody leads, must not train on: others may begin the next
// round without it.
bool StopResumeAgent::must_stop() const {
  if (picture_.result.is_object() || leaving_) return true;
  if (picture_.wanted && picture_.wanted->stop) return true;
  if (announced() > generation()) return true;
  return footing_.is_guest() && (!registered_ || !picture_.agent.is_object());
}

Json StopResumeAgent::member_json(const model::WorkerId& id, int pid, model::WorkerState state,
                                  const std::string& reason) const {
  Json member = model::Worker{.id = id,
                              .pid = pid,
                              .host = options_.host,
                              .rank = std::nullopt,
                              .state = state,
                              .reason = reason,
                              .exit = std::nullopt};
  if (footing_.is_guest()) member["agent"] = footing_.claim();
  return member;
}

void StopResumeAgent::start_worker(const model::WorkerId& id) {
  os::Spawn spawn;
  spawn.argv = options_.argv;
  const std::string& job = options_.launch.spec.name;
  spawn.environment = round_environment(*round_, id, job, options_.paths.dir);
  spawn.environment.insert(spawn.environment.end(), options_.environment.begin(),
                           options_.environment.end());
  spawn.environment.emplace_back(train::kRoleVariable, "");  // ours is not the program's
  spawn.output_path = options_.paths.worker_log(id);
  spawn.own_session = true;
  spawn.as_group = true;
  Worker& worker = workers_[id];
  worker.log = spawn.output_path;
  worker.oom_kills = oom_.read();
  auto child = system_.processes().spawn(spawn, [this, id](os::Exit exit) { on_exit(id, exit); });
  if (!child.ok()) {
    const PlainEnd end{model::ExitClass::kCrashed,
                       text("It could not be started: ", child.error().message, ".")};
    note_in_log(worker.log, end.reason);
    system_.post([this, id, end] {
      crew_.ended(id);
      on_end(id, {.code = 127}, end, false);
    });
    return;
  }
  worker.child = std::move(child).value();
  guard_->add(worker.child->pid());
  const Json member =
      member_json(id, worker.child->pid(), model::WorkerState::kMember,
                  text("It was started as rank ", *round_->view.rank_of(id), " of ",
                       round_->view.members.size(), " in generation ", generation(), "."));
  footing_.job().put("members/" + id, member);
  Json event = member;
  event["event"] = "worker";
  tell(event);
}

void StopResumeAgent::terminate(const model::WorkerId& id) {
  const Worker& worker = workers_.at(id);
  if (!worker.child) return;
  (void)worker.child->signal(os::Signal::kTerminate);
  Json event = member_json(id, worker.child->pid(), model::WorkerState::kLeaving,
                           text("It got SIGTERM and has ", options_.grace, " to end."));
  event["event"] = "worker";
  tell(event);
}

void StopResumeAgent::kill(const model::WorkerId& id) {
  const Worker& worker = workers_.at(id);
  if (worker.child) (void)worker.child->signal(os::Signal::kKill);
}

void StopResumeAgent::on_exit(const model::WorkerId& id, os::Exit exit) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  const Worker& worker = found->second;
  const CrewEnd how = crew_.ended(id);
  const std::uint64_t oom_kills = oom_.read() - std::min(oom_.read(), worker.oom_kills);
  const PlainEnd end = plain_end(exit, how, oom_kills, options_.grace);
  if (how.killed) note_in_log(worker.log, end.reason);
  on_end(id, exit, end, how.asked);
}

void StopResumeAgent::on_end(const model::WorkerId& id, os::Exit exit, const PlainEnd& end,
                             bool asked) {
  const auto found = workers_.find(id);
  const bool has_child = found != workers_.end() && found->second.child;
  const int pid = has_child ? found->second.child->pid() : 0;
  if (has_child) guard_->remove(pid);
  Json member = member_json(id, pid, model::WorkerState::kExited, end.reason);
  member["exit"] = {
      {"code", exit.code}, {"signal", exit.signal}, {"class", model::name(end.exit_class)}};
  Json event = member;
  event["event"] = "worker";
  tell(event);
  const std::string log = options_.paths.worker_log(id);
  member["asked"] = asked;
  member["log"] = footing_.is_guest() ? text(log, " on ", options_.host) : log;
  ends_[id] = member;
  footing_.job().put("members/" + id, member);
  // Its own exit report may be what called us.
  if (found != workers_.end()) {
    const std::shared_ptr<os::Child> child = std::move(found->second.child);
    workers_.erase(found);
    system_.post([child] {});
  }
  act();
}

// For who looks there why the last words are missing.
void StopResumeAgent::note_in_log(const std::string& log, const std::string& sentence) {
  const auto file = system_.disk().open(log, os::Open::kAppend);
  if (file.ok()) (void)(*file)->append(bytes_of(text("edl: ", sentence, "\n")));
}

}  // namespace edl::agent
