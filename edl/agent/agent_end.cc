// How an agent comes to its end: with the job's result, by a failure of its own, or as a guest that
// leaves.
#include <algorithm>

#include "edl/agent/agent.h"
#include "edl/agent/loose_fields.h"
#include "edl/checkpoint/reader.h"

namespace edl::agent {
namespace {

constexpr Duration kKillAfter = 5s;
constexpr Duration kGuestsLimit = 10s;

// Where training goes on from, in the fields of a result; the beginning when nothing was kept.
Json last_kept(os::Disk& disk, const Json& recorded, const model::SampleCount& samples) {
  const auto kept = checkpoint::open_checkpoint(disk, word(recorded, "path"));
  const model::Position here = kept.ok() ? kept->state.position : model::Position();
  std::string hash = word(recorded, "state_hash");
  if (!kept.ok()) hash.clear();
  const std::uint64_t in_epoch = samples.is_known() ? samples.known() : 0;
  return {{"step", here.step},         {"steps", here.step},
          {"epoch", here.epoch},       {"epochs", here.epoch},
          {"position", here.position}, {"samples", here.epoch.value() * in_epoch + here.position},
          {"state_hash", hash},        {"metrics", Json::object()}};
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
  footing_.job().put_if_absent("result", result, [this] {
    failing_ = false;
    if (current_) act();
  });
}

// Nobody is left who could write a checkpoint: the last one is where the job stopped.
void Agent::write_stop() {
  if (std::exchange(failing_, true)) return;
  Json result = last_kept(system_.disk(), picture_.checkpoint, options_.launch.samples);
  const std::uint64_t step = number(result, "step");
  const std::string place = step > 0 ? text("at its newest checkpoint, of step ", step)
                                     : "at its beginning, as it has no checkpoint";
  result["state"] = "stopped";
  result["seconds"] = seconds(system_.now() - began_);
  result["reason"] = text("It was stopped while no worker was alive, so it is ", place, ".");
  face_.say(word(result, "reason"));
  footing_.job().put_if_absent("result", result, [this] {
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
  if (!picture_.shares.empty() && picture_.alive() > 0 && !footing_.is_guest()) {
    // Guests still need the store to leave in order; one that died does not hold us for ever.
    end_alarm_ = system_.after(kGuestsLimit, [this] { tell_result(); });
    return;
  }
  tell_result();
}

void Agent::tell_result() {
  if (std::exchange(failing_, true)) return;
  const auto end = footing_.tell_end(picture_.result);
  if (end.ok()) return finish(0);
  failure_ = end.error().message;
  finish(1);
}

// A guest goes: its workers leave at the next boundary, and nobody replaces them.
void Agent::leave_job(const std::string& sentence) {
  face_.say(sentence);
  footing_.ask_for_fewer([this] {
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
  if (!failure_.empty()) code = 1;
  footing_.finish(code, !workers_.empty() && interrupts_ < 2);
}

}  // namespace edl::agent
