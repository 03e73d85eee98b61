#include "edl/agent/crew.h"

#include <algorithm>

#include "edl/agent/exit_class.h"
#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr int kKill = 9;

}  // namespace

CrewActions Crew::decide(const CrewOrders& orders, Time now) {
  CrewActions actions;
  const bool is_new = orders.generation > generation_;
  if (orders.stop || is_new) stop(actions, now);
  if (!is_new) return actions;
  if (orders.stop) {
    generation_ = orders.generation;
    actions.skip = orders.workers;
  } else if (workers_.empty()) {
    start(orders, actions);
  }
  return actions;
}

void Crew::stop(CrewActions& actions, Time now) {
  for (auto& [id, worker] : workers_) {
    if (!worker.asked) {
      worker.asked = now;
      actions.terminate.push_back(id);
    }
    const Time end = *worker.asked + grace_;
    if (now >= end && !std::exchange(worker.killed, true)) actions.kill.push_back(id);
    if (!worker.killed) actions.look_again = std::min(actions.look_again.value_or(end), end);
  }
}

void Crew::start(const CrewOrders& orders, CrewActions& actions) {
  generation_ = orders.generation;
  actions.start = orders.workers;
  for (const model::WorkerId& id : orders.workers) workers_[id] = {};
}

CrewEnd Crew::ended(const model::WorkerId& id) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return {};
  const CrewEnd how{.asked = found->second.asked.has_value(), .killed = found->second.killed};
  workers_.erase(found);
  return how;
}

PlainEnd plain_end(const os::Exit& exit, const CrewEnd& how, std::uint64_t oom_kills,
                   Duration grace) {
  if (how.killed && exit.signal == kKill) {
    return {model::ExitClass::kKilled,
            text("It did not end within ", grace, " of SIGTERM, and was killed.")};
  }
  const model::ExitClass exit_class =
      classify({.exit = exit, .leaving = true, .oom_kills = oom_kills});
  if (!how.asked) {
    if (exit == os::Exit{}) return {model::ExitClass::kLeft, "It finished."};
    return {exit_class, end_reason(exit, exit_class)};
  }
  if (exit.signal == kKill) return {exit_class, end_reason(exit, exit_class)};
  // Others may fail because one that they talk with has ended before them: that is no crash.
  const std::string how_text = exit == os::Exit{} ? "" : text(" (", os::exit_text(exit), ")");
  return {model::ExitClass::kLeft, text("It was stopped", how_text, ".")};
}

}  // namespace edl::agent
