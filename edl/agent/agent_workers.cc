// An agent and its workers: how they start, what they say, how they end.
#include <algorithm>
#include <chrono>

#include "edl/agent/agent.h"
#include "edl/agent/exit_class.h"
#include "edl/agent/loose_fields.h"
#include "edl/model/fields.h"

namespace edl::agent {
namespace {

constexpr std::size_t kOldEndsMax = 32;
constexpr Duration kPauseMax = 10min;
constexpr Duration kComputingAgain = 1s;

}  // namespace

void Agent::start_workers(std::uint32_t count) {
  starting_ += count;
  footing_.job().take_ids(count, [this, count](const std::vector<std::string>& ids) {
    starting_ -= count;
    for (const std::string& id : ids) start_worker(id);
    act();
  });
}

void Agent::start_worker(const std::string& id) {
  if (ending_ || failing_) return;
  const std::string log = options_.paths.worker_log(id);
  auto made = std::make_unique<WorkerProcess>(
      system_, WorkerProcess::Options{id, options_.launch.spec.name, log, oom_.read()},
      WorkerProcess::Callbacks{
          [this](const std::string& from, train::ParentFrame type, const Json& body) {
            on_frame(from, type, body);
          },
          [this](const std::string& who, os::Exit exit) { on_end(who, exit); }});
  WorkerProcess& worker = *made;
  workers_[id] = std::move(made);
  const auto started = [this, &worker](Result<std::unique_ptr<os::Child>> child) {
    if (!child.ok()) {
      face_.say(text("Cannot start worker ", worker.id(), ": ", child.error().message, "."));
      return worker.exited({.code = 127});
    }
    worker.attach(std::move(child).value());
    worker.send(train::ParentFrame::kSetup, setup_json(worker.id()));
    if (worker.leaving) worker.ask_to_leave();  // it could not be told while it was starting
    tell_worker(worker, "It was started.");
  };
  starter_->start(id, log, started, [&worker](os::Exit exit) { worker.exited(exit); });
}

Json Agent::setup_json(const std::string& id) const {
  Json options{
      {"faults", options_.faults},
      {"fired", fired_},
      {"grace_ms", std::chrono::duration_cast<std::chrono::milliseconds>(options_.grace).count()}};
  if (!options_.trace_samples.empty()) options["trace_samples"] = options_.trace_samples;
  // Beside survivors who compute the parts of a dead worker again, its successor begins quietly.
  const bool is_successor = last_end_ && system_.now() < *last_end_ + kComputingAgain;
  options["joins"] = picture_.view && picture_.view->halt.empty() && !is_successor;
  return {{"job", options_.launch.spec.name},
          {"id", id},
          {"host", options_.host},
          {"address", os::address_text({.host = options_.address, .port = 0, .path = ""})},
          {"store", footing_.urls()},
          {"token", footing_.token()},
          {"secret", hex(bytes_of(options_.secret))},
          {"dir", options_.paths.dir},
          {"spec", picture_.spec},
          {"options", options}};
}

void Agent::on_frame(const std::string& id, train::ParentFrame type, const Json& body) {
  const auto found = workers_.find(id);
  if (found == workers_.end() || !body.is_object()) return;
  WorkerProcess& worker = *found->second;
  switch (type) {
    case train::ParentFrame::kEvents:
      return on_events(body);
    case train::ParentFrame::kState:
      return on_state(worker, body);
    case train::ParentFrame::kFiring:
      return on_firing(worker, body);
    case train::ParentFrame::kDied:
      return on_died(worker, body);
    case train::ParentFrame::kRefused:
      return on_refused(worker, body);
    default:
      system_.log().warn("frame that no worker sends", {{"worker", id}});
  }
}

void Agent::on_events(const Json& body) {
  const auto events = body.find("events");
  if (events == body.end() || !events->is_array()) return;
  for (const Json& event : *events) {
    // How the job ended is told by its result, once all workers are gone.
    const std::string kind = word(event, "event");
    if (kind == "warning") face_.say(text("Warning: ", word(event, "reason"), "."));
    if (kind != "finished" && kind != "failed") tell(event);
  }
}

void Agent::on_state(WorkerProcess& worker, const Json& body) {
  const auto state = model::parse_worker_state(word(body, "state"));
  if (!state.ok()) return;
  worker.state = *state;
  if (*state == model::WorkerState::kLeaving) worker.leaving = true;
  if (word(body, "cause") == "preempt") worker.preempted = true;
  tell_worker(worker, word(body, "reason"));
}

void Agent::on_firing(WorkerProcess& worker, const Json& body) {
  JsonReader in(body, "firing");
  std::uint64_t fault = 0;
  std::int64_t ms = 0;
  in.read("fault", fault);
  in.read_optional("ms", ms);
  if (!in.finish().ok() || fault >= options_.faults.size()) return;
  fired_.insert(fault);
  face_.say(
      text("Fault ", model::fault_text(options_.faults[fault]), " fires on ", worker.id(), "."));
  for (const auto& [id, other] : workers_) {
    if (id != worker.id()) other->send(train::ParentFrame::kFault, {{"fired", fault}});
  }
  if (word(body, "action") != "stop") return;
  // We stop it, not itself: a stop of its own could come after we let it go on.
  worker.signal(os::Signal::kStop);
  const Duration pause = std::clamp<Duration>(std::chrono::milliseconds(ms), 0ms, kPauseMax);
  continues_[worker.id()] = system_.after(pause, [this, id = worker.id()] {
    const auto stopped = workers_.find(id);
    if (stopped != workers_.end()) stopped->second->signal(os::Signal::kContinue);
  });
}

void Agent::on_died(WorkerProcess& worker, const Json& body) {
  JsonReader in(body, "died");
  FailedPart part;
  in.read("step", part.step);
  in.read_optional("v", part.v);
  in.read("message", part.message);
  if (!in.finish().ok()) return;
  part.message = part.message.substr(0, model::kTextMax);
  worker.failed_part = std::move(part);
}

// It computes other bits than the job, and so would the next one from here. A guest goes, and its
// worker has left; the home of the job tries again, as often as after a crash.
void Agent::on_refused(WorkerProcess& worker, const Json& body) {
  const std::string reason = word(body, "reason").substr(0, model::kTextMax);
  tell_worker(worker, reason);
  if (!footing_.is_guest()) return;
  worker.leaving = true;
  if (!failure_.empty()) return;
  failure_ = text("cannot join job ", options_.launch.spec.name, ": ", reason);
  leave_job("Leaving the job.");
}

model::Exit Agent::classified(const WorkerProcess& worker, os::Exit exit) const {
  const bool leaving = worker.leaving || ending_ || picture_.result.is_object() ||
                       (picture_.view && worker.state != model::WorkerState::kStarting &&
                        picture_.in_view(worker.id()) == nullptr);
  const EndFacts facts{.exit = exit,
                       .leaving = leaving,
                       .preempted = worker.preempted,
                       .oom_kills = oom_.read() - std::min(oom_.read(), worker.oom_kills_before())};
  return {exit.code, exit.signal, classify(facts)};
}

void Agent::on_end(const std::string& id, os::Exit exit) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  const std::unique_ptr<WorkerProcess> worker = std::move(found->second);
  workers_.erase(found);
  continues_.erase(id);
  last_end_ = system_.now();
  const model::Exit end = classified(*worker, exit);
  const std::string reason = end_reason(exit, end.exit_class);
  Json member = model::Worker{.id = id,
                              .pid = worker->pid(),
                              .host = options_.host,
                              .rank = std::nullopt,
                              .state = model::WorkerState::kExited,
                              .reason = reason,
                              .exit = end};
  // First the store, so that the leader knows; then the others, who hear it sooner still.
  keep_end(id, member);
  for (const auto& [other, process] : workers_)
    process->send(train::ParentFrame::kGone, {{"id", id}});
  member["event"] = "worker";
  tell(member);
  replacement_.ended({id, end.exit_class, reason, worker->log(), worker->failed_part},
                     system_.now());
  act();
}

// Ends pile up in a job that runs for weeks; those of long ago interest nobody.
void Agent::keep_end(const std::string& id, const Json& member) {
  footing_.job().put("members/" + id, member);
  old_ends_.emplace_back(id, member);
  if (old_ends_.size() <= kOldEndsMax) return;
  footing_.job().remove("members/" + old_ends_.front().first);
  old_ends_.pop_front();
}

void Agent::tell_worker(const WorkerProcess& worker, const std::string& reason) {
  tell({{"event", "worker"},
        {"id", worker.id()},
        {"pid", worker.pid()},
        {"host", options_.host},
        {"state", model::name(worker.state)},
        {"reason", reason}});
}

}  // namespace edl::agent
