#include "edl/agent/round.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/model/fields.h"

namespace edl::agent {
namespace {

// Of the budget that replacement.h keeps; torchrun's name for it.
constexpr int kRestartsMax = 5;

Json group_json(const RoundGroup& group) {
  return {{"agent", group.agent}, {"host", group.host}, {"workers", group.workers}};
}

Result<RoundGroup> group_from(const Json& json) {
  JsonReader in(json, "group");
  RoundGroup group;
  model::read_text_optional(in, "agent", group.agent);
  model::read_text_optional(in, "host", group.host);
  in.read("workers", group.workers);
  EDL_TRY(in.finish());
  return group;
}

Result<void> validate(const Round& round) {
  if (round.view.generation == model::Generation(0)) {
    return Error{Code::kInvalid, "its generation is 0; they count from 1"};
  }
  std::size_t rank = 0;
  for (const RoundGroup& group : round.groups) {
    for (const model::WorkerId& id : group.workers) {
      const bool is_known = rank < round.view.members.size() && round.view.members[rank].id == id;
      if (!is_known) {
        return Error{Code::kInvalid,
                     text("worker ", id, " of a group is not the member of rank ", rank)};
      }
      ++rank;
    }
  }
  if (rank == round.view.members.size()) return {};
  return Error{Code::kInvalid, text("no agent has the member of rank ", rank)};
}

}  // namespace

Round make_round(const RoundPlan& plan) {
  Round round{
      .groups = plan.groups, .master_host = plan.master_host, .master_port = plan.master_port};
  model::View& view = round.view;
  for (const RoundGroup& group : plan.groups) {
    for (const model::WorkerId& id : group.workers) {
      const auto rank = static_cast<std::uint32_t>(view.members.size());
      view.members.push_back({id, "", group.host, {model::LogicalWorker(rank)}});
    }
  }
  view.generation = plan.generation;
  view.first_step = model::Step(1);
  view.batch = model::undivided_batch(view.members.size(), view.logical_workers());
  view.cause = plan.cause;
  view.who = plan.who;
  view.reason = plan.reason;
  return round;
}

Json round_json(const Round& round) {
  Json json = round.view;
  Json groups = Json::array();
  for (const RoundGroup& group : round.groups) groups.push_back(group_json(group));
  json["groups"] = std::move(groups);
  json["master"] = {{"host", round.master_host}, {"port", round.master_port}};
  return json;
}

Result<Round> round_from(const Json& json) {
  Round round;
  EDL_TRY(round.view, model::view_from(json));
  JsonReader in(json, "view");
  in.read_list("groups", round.groups, group_from);
  Json master;
  in.read("master", master);
  EDL_TRY(in.finish());
  JsonReader at(master, "master");
  model::read_text(at, "host", round.master_host);
  at.read("port", round.master_port);
  EDL_TRY(at.finish());
  EDL_TRY(validate(round));
  return round;
}

Json round_event(const Round& round) {
  Json event = round.view;
  event["event"] = "view";
  for (const char* unknown : {"first_step", "epoch", "position", "batch"}) event[unknown] = nullptr;
  for (const char* unused : {"lane", "lr_factor", "ramp"}) event.erase(unused);
  for (Json& member : event["members"]) member.erase("address");
  return event;
}

std::vector<model::WorkerId> workers_of(const Round& round, const std::string& agent) {
  for (const RoundGroup& group : round.groups) {
    if (group.agent == agent) return group.workers;
  }
  return {};
}

std::vector<std::uint32_t> split_among(std::uint32_t wanted,
                                       const std::vector<GuestOffer>& guests) {
  std::vector<std::uint32_t> shares{std::min(wanted, 1u)};
  std::uint32_t left = wanted - shares[0];
  for (const GuestOffer& guest : guests) {
    shares.push_back(std::min(left, guest.workers));
    left -= shares.back();
  }
  shares[0] += left;
  return shares;
}

Environment round_environment(const Round& round, const model::WorkerId& worker,
                              const std::string& job, const std::string& dir) {
  std::size_t rank = 0;
  std::size_t group = 0;
  std::size_t local = 0;
  for (; group < round.groups.size(); ++group) {
    const auto& workers = round.groups[group].workers;
    const auto found = std::find(workers.begin(), workers.end(), worker);
    local = static_cast<std::size_t>(found - workers.begin());
    rank += local;
    if (found != workers.end()) break;
  }
  EDL_CHECK(group < round.groups.size());
  const std::string size = text(round.view.members.size());
  const std::string generation = text(round.view.generation);
  return {{"EDL_RANK", text(rank)},
          {"EDL_SIZE", size},
          {"EDL_GENERATION", generation},
          {"EDL_JOB", job},
          {"EDL_DIR", dir},
          {"EDL_WORKER", worker},
          {"RANK", text(rank)},
          {"WORLD_SIZE", size},
          {"LOCAL_RANK", text(local)},
          {"LOCAL_WORLD_SIZE", text(round.groups[group].workers.size())},
          {"GROUP_RANK", text(group)},
          {"GROUP_WORLD_SIZE", text(round.groups.size())},
          {"ROLE_NAME", "default"},
          {"ROLE_RANK", text(rank)},
          {"ROLE_WORLD_SIZE", size},
          {"MASTER_ADDR", round.master_host},
          {"MASTER_PORT", text(round.master_port)},
          {"TORCHELASTIC_RESTART_COUNT", text(round.view.generation.value() - 1)},
          {"TORCHELASTIC_MAX_RESTARTS", text(kRestartsMax)},
          {"TORCHELASTIC_RUN_ID", job},
          {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
}

}  // namespace edl::agent
