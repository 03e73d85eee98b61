#include "edl/agent/picture.h"

#include <algorithm>
#include <vector>

namespace edl::agent {
namespace {

constexpr std::string_view kMembers = "members/";
constexpr std::string_view kAgents = "agents/";

Json object_in(const std::string& value) {
  auto json = parse_json(value);
  return json.ok() && json->is_object() ? std::move(json).value() : Json();
}

std::optional<Wanted> wanted_from(const Json& json) {
  JsonReader in(json, "wanted");
  Wanted wanted;
  in.read("workers", wanted.workers);
  in.read_optional("stop", wanted.stop);
  in.read_optional("by", wanted.by);
  in.read_optional("reason", wanted.reason);
  if (!in.finish().ok() || wanted.workers > model::kMembersMax) return std::nullopt;
  return wanted;
}

std::optional<model::View> view_in(const Json& json) {
  auto view = model::view_from(json);
  if (!view.ok()) return std::nullopt;
  return std::move(view).value();
}

std::string word_of(const Json& json, const char* name) {
  const Json word = json.is_object() ? json.value(name, Json()) : Json();
  return word.is_string() ? word.get<std::string>() : "";
}

std::uint32_t workers_in(const Json& json) {
  JsonReader in(json, "agent");
  std::uint32_t workers = 0;
  in.read("workers", workers);
  return in.finish().ok() ? std::min<std::uint32_t>(workers, model::kMembersMax) : 0;
}

}  // namespace

std::string job_prefix(const std::string& job) { return text("/edl/v1/jobs/", job, "/"); }

Json wanted_json(const Wanted& wanted) {
  return {{"workers", wanted.workers},
          {"stop", wanted.stop},
          {"by", wanted.by},
          {"reason", wanted.reason}};
}

void JobPicture::take(const store::Fact& fact) {
  if (fact.kind == store::Fact::Kind::kCurrent || !fact.kv.key.starts_with(prefix)) return;
  const std::string name = fact.kv.key.substr(prefix.size());
  if (fact.kind == store::Fact::Kind::kPut) return put(name, fact.kv);
  remove(name);
}

void JobPicture::put(const std::string& name, const store::KeyValue& kv) {
  revisions[name] = kv.mod_revision;
  Json json = object_in(kv.value);
  if (name.starts_with(kMembers)) {
    members[name.substr(kMembers.size())] = std::move(json);
  } else if (name.starts_with(kAgents)) {
    shares[name.substr(kAgents.size())] = {workers_in(json), kv.create_revision,
                                           word_of(json, "host").substr(0, model::kTextMax)};
  } else if (name == "wanted") {
    wanted = wanted_from(json);
  } else if (name == "view") {
    view = view_in(json);
    round = std::move(json);
  } else if (Json* place = name == "spec"         ? &spec
                           : name == "leader"     ? &leader
                           : name == "checkpoint" ? &checkpoint
                           : name == "save"       ? &save
                           : name == "progress"   ? &progress
                           : name == "result"     ? &result
                           : name == "effect"     ? &effect
                           : name == "replace"    ? &replace
                           : name == "change"     ? &change
                           : name == "agent"      ? &agent
                                                  : nullptr) {
    *place = std::move(json);
  }
}

void JobPicture::remove(const std::string& name) {
  revisions.erase(name);
  if (name.starts_with(kMembers)) members.erase(name.substr(kMembers.size()));
  if (name.starts_with(kAgents)) shares.erase(name.substr(kAgents.size()));
  if (name == "result") result = Json();
  if (name == "agent") agent = Json();
}

store::Revision JobPicture::revision(const std::string& name) const {
  const auto found = revisions.find(name);
  return found == revisions.end() ? 0 : found->second;
}

bool JobPicture::is_alive(const std::string& member) const {
  const auto found = members.find(member);
  return found != members.end() && found->second.is_object() &&
         found->second.value("state", Json("")) != "exited";
}

std::uint32_t JobPicture::alive() const {
  return static_cast<std::uint32_t>(std::count_if(
      members.begin(), members.end(), [&](const auto& member) { return is_alive(member.first); }));
}

const model::Member* JobPicture::in_view(const std::string& worker) const {
  if (!view) return nullptr;
  const auto found = std::find_if(view->members.begin(), view->members.end(),
                                  [&](const model::Member& member) { return member.id == worker; });
  return found == view->members.end() ? nullptr : &*found;
}

std::string JobPicture::leader_id() const { return word_of(leader, "id"); }

std::string JobPicture::replaced_id() const { return word_of(replace, "worker"); }

std::uint32_t share_of(const JobPicture& picture, const std::string& id) {
  std::vector<std::pair<store::Revision, std::string>> order;
  for (const auto& [agent, share] : picture.shares) order.emplace_back(share.since, agent);
  std::sort(order.begin(), order.end());
  std::uint32_t left = picture.wanted ? picture.wanted->workers : 0;
  for (const auto& [since, agent] : order) {
    const std::uint32_t taken = std::min(left, picture.shares.at(agent).workers);
    if (agent == id) return taken;
    left -= taken;
  }
  return id.empty() ? left : 0;
}

}  // namespace edl::agent
