#include "edl/agent/stop_resume.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::agent {
namespace {

using Act = RoundDecision::Act;
using State = SeatFacts::State;

bool is_from_outside(const SeatFacts& seat) {
  return seat.exit && (seat.exit->exit_class == model::ExitClass::kKilled ||
                       seat.exit->exit_class == model::ExitClass::kPreempted);
}

// The first that ended without having been asked to and without having finished.
const SeatFacts* first_failed(const RoundFacts& facts) {
  const SeatFacts* first = nullptr;
  for (const SeatFacts& seat : facts.seats) {
    const bool failed = seat.state == State::kEnded && !seat.asked && !seat.has_finished();
    if (failed && (first == nullptr || seat.order < first->order)) first = &seat;
  }
  return first;
}

RoundDecision because(Act act, model::Cause cause, std::string who, std::string reason) {
  RoundDecision decision;
  decision.act = act;
  decision.cause = cause;
  decision.who = std::move(who);
  decision.reason = std::move(reason);
  return decision;
}

RoundDecision end_as(std::string state, std::string reason) {
  RoundDecision decision;
  decision.act = Act::kEnd;
  decision.state = std::move(state);
  decision.reason = std::move(reason);
  return decision;
}

// `edl join` and `edl scale` change the same number.
model::Cause cause_of_size(const Wanted& wanted, std::size_t before) {
  if (wanted.by != "edl join") return model::Cause::kScale;
  return wanted.workers > before ? model::Cause::kJoin : model::Cause::kLeave;
}

}  // namespace

RoundDecision StopResume::decide(const RoundFacts& facts, Time now) {
  if (!inherited_) inherited_ = facts.generation;
  std::optional<Time> look_again;
  RoundDecision decision = is_over(facts, now, look_again) ? ended(facts, now) : running(facts);
  if (look_again) {
    decision.look_again = std::min(decision.look_again.value_or(*look_again), *look_again);
  }
  if (decision.act == Act::kAnnounce) announced_ = decision;
  if (decision.act == Act::kStart) announced_.reset();
  return decision;
}

bool StopResume::is_over(const RoundFacts& facts, Time now, std::optional<Time>& look_again) {
  bool over = true;
  std::map<model::WorkerId, Time> lost;
  for (const SeatFacts& seat : facts.seats) {
    if (seat.state == State::kEnded) continue;
    over = over && seat.state == State::kLost;
    if (seat.state != State::kLost) continue;
    const auto known = lost_since_.find(seat.id);
    const Time since = known == lost_since_.end() ? now : known->second;
    lost[seat.id] = since;
    if (now >= since + lost_after_) continue;
    over = false;
    look_again = std::min(look_again.value_or(since + lost_after_), since + lost_after_);
  }
  lost_since_ = std::move(lost);
  return over;
}

// Why the round that runs cannot go on as it is.
std::optional<StopResume::Change> StopResume::change_in(const RoundFacts& facts) const {
  const auto announce = [](model::Cause cause, std::string who, std::string reason) {
    return because(Act::kAnnounce, cause, std::move(who), std::move(reason));
  };
  if (is_inherited(facts)) return announce(model::Cause::kResume, "edl resume", "The job goes on.");
  if (const SeatFacts* failed = first_failed(facts)) {
    const bool preempted = failed->exit && failed->exit->exit_class == model::ExitClass::kPreempted;
    return announce(preempted ? model::Cause::kPreempt : model::Cause::kDeath, failed->id,
                    text("Worker ", failed->id, " ended. ", failed->reason));
  }
  for (const SeatFacts& seat : facts.seats) {
    if (seat.state == State::kLost) {
      return announce(
          model::Cause::kDeath, seat.id,
          text("The agent on ", seat.host, " is gone, and worker ", seat.id, " with it."));
    }
    if (seat.state == State::kEnded && seat.asked) {
      return announce(model::Cause::kLeave, seat.id,
                      text("The agent on ", seat.host, " took worker ", seat.id, " away."));
    }
  }
  // Who has finished would have to be started again for another size: the job is at its end.
  const bool is_ending = std::any_of(facts.seats.begin(), facts.seats.end(),
                                     [](const SeatFacts& seat) { return seat.has_finished(); });
  if (is_ending || facts.seats.size() == facts.wanted.workers) return std::nullopt;
  return announce(cause_of_size(facts.wanted, facts.seats.size()), facts.wanted.by,
                  facts.wanted.reason);
}

RoundDecision StopResume::running(const RoundFacts& facts) {
  if (facts.wanted.stop || facts.announced > facts.generation) return {};
  return change_in(facts).value_or(RoundDecision());
}

RoundDecision StopResume::ended(const RoundFacts& facts, Time now) {
  if (!is_inherited(facts)) {
    const bool finished = std::all_of(facts.seats.begin(), facts.seats.end(),
                                      [](const SeatFacts& seat) { return seat.has_finished(); });
    if (finished) return end_as("finished", "All workers ended by themselves with 0.");
    judge(facts, now);
  }
  if (replacement_.failure()) {
    RoundDecision decision = end_as("failed", replacement_.failure()->reason);
    decision.failure = replacement_.failure();
    return decision;
  }
  if (facts.wanted.stop) return end_as("stopped", facts.wanted.reason);
  const Replacements may = replacement_.decide(1, 0, now);
  RoundDecision decision = next_cause(facts);
  if (may.start > 0) return decision;
  decision.act = Act::kWait;
  decision.look_again = may.look_again;
  return decision;
}

// Counts the crash that ended the round, if it was one.
void StopResume::judge(const RoundFacts& facts, Time now) {
  if (judged_ >= facts.generation) return;
  judged_ = facts.generation;
  const SeatFacts* first = first_failed(facts);
  if (first == nullptr || !first->exit) return;
  const bool from_outside =
      std::any_of(facts.seats.begin(), facts.seats.end(),
                  [](const SeatFacts& seat) { return !seat.asked && is_from_outside(seat); });
  if (from_outside) return;
  replacement_.ended({.id = first->id,
                      .exit_class = first->exit->exit_class,
                      .reason = first->reason,
                      .log = first->log},
                     now);
}

StopResume::Change StopResume::next_cause(const RoundFacts& facts) const {
  if (facts.generation == 0) {
    return because(Act::kStart, model::Cause::kStart, facts.wanted.by, facts.wanted.reason);
  }
  const Change over = because(Act::kStart, model::Cause::kLeave, "edl run",
                              "All workers of the round before have ended.");
  Change change = announced_ ? *announced_ : change_in(facts).value_or(over);
  // It may have been changed once more since.
  if (change.who == facts.wanted.by) change.reason = facts.wanted.reason;
  change.act = Act::kStart;
  return change;
}

}  // namespace edl::agent
