// How an agent comes to its end: with the job's result, by a failure of its own, or as a guest that
// leaves.
#include <algorithm>

#include "edl/agent/agent.h"

namespace edl::agent {
namespace {

constexpr std::size_t kLogLines = 20;
constexpr Duration kKillAfter = 5s;
constexpr Duration kGuestsLimit = 10s;

std::string word(const Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

void Agent::write_failure(const JobFailure& failure) {
  if (std::exchange(failing_, true)) return;
  Json result{{"state", "failed"},
              {"reason", failure.reason},
              {"worker", failure.worker},
              {"log", failure.log},
              {"seconds", seconds(system_.now() - began_)}};
  if (picture_.checkpoint.is_object() && picture_.checkpoint.contains("step")) {
    result["step"] = picture_.checkpoint["step"];
  }
  job_store_->put_if_absent("result", result, [this] {
    failing_ = false;
    if (current_) act();
  });
}

// Nobody is left who could write a checkpoint: the last one is where the job stopped.
void Agent::write_stop() {
  if (std::exchange(failing_, true)) return;
  Json result = picture_.checkpoint.is_object() ? picture_.checkpoint : Json::object();
  result["state"] = "stopped";
  result["reason"] = "It was stopped while no worker was alive.";
  job_store_->put_if_absent("result", result, [this] {
    failing_ = false;
    if (current_) act();
  });
}

// The job has a result. Workers see it and leave; those that do not are sent away.
void Agent::wind_down() {
  if (!std::exchange(ending_, true)) {
    alarm_.cancel();
    end_alarm_ = system_.after(options_.grace, [this] {
      for (const auto& [id, worker] : workers_) worker->signal(os::Signal::kTerminate);
      end_alarm_ = system_.after(kKillAfter, [this] {
        for (const auto& [id, worker] : workers_) worker->signal(os::Signal::kKill);
      });
    });
  }
  if (!workers_.empty() || starting_ > 0) return;
  if (!picture_.shares.empty() && picture_.alive() > 0 && options_.mode != AgentMode::kJoin) {
    // Guests still need the store to leave in order; one that died does not hold us for ever.
    end_alarm_ = system_.after(kGuestsLimit, [this] { tell_result(); });
    return;
  }
  tell_result();
}

void Agent::tell_result() {
  if (std::exchange(failing_, true)) return;
  const Json& result = picture_.result;
  const std::string state = word(result, "state");
  if (state == "failed") {
    failure_ = text("job ", options_.launch.spec.name, " failed: ", word(result, "reason"));
    Json event{{"event", "failed"}, {"reason", word(result, "reason")}};
    for (const char* name : {"worker", "log"}) {
      if (result.contains(name)) event[name] = result[name];
    }
    tell(event);
    const std::string log = word(result, "log");
    for (const std::string& line : last_lines(system_.disk(), log, kLogLines)) {
      face_.say("  | " + line);
    }
    return finish(1);
  }
  Json event{{"event", "finished"}, {"state", state}};
  if (result.contains("step")) event["steps"] = result["step"];
  for (const char* name : {"samples", "epochs", "state_hash", "seconds", "metrics", "reason"}) {
    if (result.contains(name)) event[name] = result[name];
  }
  tell(event);
  finish(0);
}

// A guest goes: its workers leave at the next boundary, and nobody replaces them.
void Agent::leave_job() {
  face_.say("Leaving the job. Ctrl-C again kills the workers here.");
  const auto less = [this](Wanted& wanted) {
    const std::uint32_t spare =
        wanted.workers - std::min(wanted.workers, options_.launch.range.min);
    wanted.workers -= std::min(spare, options_.join_workers);
    wanted.by = "edl join";
    wanted.reason = text(options_.host, " left.");
  };
  job_store_->edit_wanted(less, [this] {
    ending_ = true;
    for (const auto& [id, worker] : workers_) worker->ask_to_leave();
    end_alarm_ = system_.after(options_.grace, [this] { finish(0); });
    act();
  });
}

void Agent::fail(const Error& error) {
  if (failing_ && !failure_.empty()) return;
  failing_ = true;
  failure_ = error.message;
  finish(1);
}

void Agent::finish(int code) {
  following_.cancel();
  alarm_.cancel();
  end_alarm_.cancel();
  // A store that workers still need ends by itself when the last of them is gone.
  const bool is_needed = !workers_.empty() && interrupts_ < 2;
  if (!store_process_ || is_needed) return system_.finish(code);
  store_process_->close([this, code] { system_.finish(code); });
}

}  // namespace edl::agent
