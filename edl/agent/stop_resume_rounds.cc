// The agent of `edl run` in mode stop-resume: when a round ends, and which one follows.
#include <algorithm>
#include <chrono>

#include "edl/agent/loose_fields.h"
#include "edl/agent/stop_resume_agent.h"

namespace edl::agent {
namespace {

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

bool is_ended(const Json& member) { return word(member, "state") == "exited"; }

}  // namespace

void StopResumeAgent::lead() {
  round_alarm_.cancel();
  if (!picture_.wanted || publishing_ || ending_ || !guard_->ready()) return;
  const RoundFacts facts = round_facts();
  tell_effect(facts);
  const RoundDecision decision = rounds_.decide(facts, system_.now());
  using Act = RoundDecision::Act;
  if (decision.act != Act::kWait && !noticed_) noticed_ = system_.now();
  switch (decision.act) {
    case Act::kWait:
      if (!decision.reason.empty()) put_progress("waiting", decision.reason);
      if (!decision.reason.empty() && !noticed_) noticed_ = system_.now();
      break;
    case Act::kAnnounce:
      return announce(decision);
    case Act::kStart:
      return start_round(decision);
    case Act::kEnd:
      return end_job(decision);
  }
  if (!decision.look_again) return;
  round_alarm_ = system_.after(*decision.look_again - system_.now(), [this] { act(); });
}

RoundFacts StopResumeAgent::round_facts() const {
  RoundFacts facts{.wanted = *picture_.wanted,
                   .generation = generation(),
                   .seats = {},
                   .announced = announced()};
  if (!round_) return facts;
  std::size_t rank = 0;
  for (const RoundGroup& group : round_->groups) {
    for (std::size_t i = 0; i < group.workers.size(); ++i) {
      facts.seats.push_back(seat_facts(round_->view.members[rank++], group.agent));
    }
  }
  return facts;
}

SeatFacts StopResumeAgent::seat_facts(const model::Member& member, const std::string& agent) const {
  SeatFacts seat{.id = member.id, .host = member.host};
  const auto known = picture_.members.find(member.id);
  const Json fields = known == picture_.members.end() ? Json() : known->second;
  if (is_ended(fields)) {
    seat.state = SeatFacts::State::kEnded;
    seat.asked = fields.value("asked", Json()) == true;
    const auto worker = model::worker_from(fields);
    if (worker.ok()) seat.exit = worker->exit;
    seat.reason = word(fields, "reason");
    seat.log = word(fields, "log");
    seat.order = static_cast<std::uint64_t>(picture_.revision("members/" + member.id));
  } else if (!agent.empty() && !picture_.shares.contains(agent)) {
    seat.state = SeatFacts::State::kLost;
  } else if (fields.is_object()) {
    seat.state = SeatFacts::State::kRunning;
  }
  return seat;
}

void StopResumeAgent::announce(const RoundDecision& why) {
  announced_ = generation() + 1;
  footing_.job().change({.puts = {{footing_.job().key("change"),
                                   json_line({{"generation", announced_},
                                              {"cause", model::name(why.cause)},
                                              {"who", why.who},
                                              {"reason", why.reason}}),
                                   0}}},
                        [this](bool) {
                          agreed_from_ = system_.now();
                          act();
                        });
  put_progress("paused", why.reason);
}

void StopResumeAgent::start_round(const RoundDecision& why) {
  publishing_ = true;
  if (!agreed_from_) agreed_from_ = system_.now();
  footing_.job().take_ids(picture_.wanted->workers,
                          [this, why](const std::vector<std::string>& ids) { publish(why, ids); });
}

std::vector<RoundGroup> StopResumeAgent::groups_of(const std::vector<std::string>& ids) const {
  std::vector<std::pair<store::Revision, std::string>> order;
  for (const auto& [agent, share] : picture_.shares) order.emplace_back(share.since, agent);
  std::sort(order.begin(), order.end());
  std::vector<GuestOffer> offers;
  for (const auto& [since, agent] : order) {
    offers.push_back({agent, picture_.shares.at(agent).workers});
  }
  const auto counts = split_among(static_cast<std::uint32_t>(ids.size()), offers);
  std::vector<RoundGroup> groups;
  auto next = ids.begin();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto end = next + counts[i];
    const std::string agent = i == 0 ? "" : offers[i - 1].agent;
    const std::string host = i == 0 ? options_.host : picture_.shares.at(agent).host;
    if (counts[i] > 0) groups.push_back({agent, host, {next, end}});
    next = end;
  }
  return groups;
}

// Somebody may take it before the worker of rank 0 does; then that one fails, and the next round
// has another one.
Result<std::uint16_t> StopResumeAgent::free_port() {
  const auto listener = system_.network().listen({.host = options_.address, .port = 0, .path = ""},
                                                 [](std::unique_ptr<os::Stream>) {});
  if (listener.ok()) return (*listener)->address().port;
  return Error{listener.error().code,
               text("cannot find a port for the workers at ", options_.address, ": ",
                    listener.error().message, ". Give an address of this machine by --address")};
}

void StopResumeAgent::publish(const RoundDecision& why, const std::vector<std::string>& ids) {
  const auto port = free_port();
  if (!port.ok()) return fail(port.error());
  const Round round = make_round({.generation = model::Generation(generation() + 1),
                                  .groups = groups_of(ids),
                                  .master_host = options_.address,
                                  .master_port = *port,
                                  .cause = why.cause,
                                  .who = why.who,
                                  .reason = why.reason});
  JobStore& job = footing_.job();
  const Json leader{{"id", ids.front()}, {"claim", footing_.claim()}};
  const store::Change change{.conditions = {{job.key("view"), picture_.revision("view")}},
                             .puts = {{job.key("view"), json_line(round_json(round)), 0},
                                      {job.key("leader"), json_line(leader), 0}}};
  job.change(change, [this](bool happened) {
    if (!happened && !over_)
      publishing_ = false;  // an earlier try was heard, or somebody leads too
    act();
  });
}

void StopResumeAgent::end_job(const RoundDecision& end) {
  ending_ = true;
  Json result{{"state", end.state},
              {"reason", end.reason},
              {"seconds", seconds(system_.now() - began_)},
              {"metrics", Json::object()}};
  for (const char* unknown : {"step", "epoch", "position", "samples", "epochs", "state_hash"}) {
    result[unknown] = nullptr;
  }
  if (end.failure) {
    result["worker"] = end.failure->worker;
    result["log"] = end.failure->log;
  }
  footing_.job().put_if_absent("result", result, [] {});
}

// Told once, when all workers of the round run.
void StopResumeAgent::tell_effect(const RoundFacts& facts) {
  if (!published_ || !noticed_) return;
  const bool all = std::all_of(facts.seats.begin(), facts.seats.end(), [](const SeatFacts& seat) {
    return seat.state == SeatFacts::State::kRunning || seat.state == SeatFacts::State::kEnded;
  });
  if (!all || facts.seats.empty()) return;
  const Time agreed_from = agreed_from_.value_or(*noticed_);
  Json event = round_event(*round_);
  event["pause_ms"] = milliseconds(system_.now() - *noticed_);
  event["detect_ms"] = milliseconds(agreed_from - *noticed_);
  event["agree_ms"] = milliseconds(*published_ - agreed_from);
  event["transfer_ms"] = 0.0;
  event["resume_ms"] = milliseconds(system_.now() - *published_);
  for (const char* unknown : {"steps_redone", "parts_redone", "steps_lost"}) {
    event[unknown] = nullptr;
  }
  event["predicted_pause_ms"] = last_pause_ms_ ? Json(*last_pause_ms_) : Json();
  tell(event);
  if (facts.generation > 1) last_pause_ms_ = event["pause_ms"].get<double>();
  noticed_.reset();
  agreed_from_.reset();
  published_.reset();
  put_progress("running", round_->view.reason);
}

void StopResumeAgent::put_progress(const std::string& state, const std::string& reason) {
  Json progress{{"state", state}, {"reason", reason}};
  if (last_pause_ms_) progress["planned_pause_ms"] = *last_pause_ms_;
  if (std::exchange(progress_, json_line(progress)) == json_line(progress)) return;
  footing_.job().put("progress", progress);
}

}  // namespace edl::agent
