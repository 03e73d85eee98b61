// A job as the store shows it: its keys, read. What is not there or cannot be read is left out, so
// that one bad value never hides the rest. Plain state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "edl/base/json.h"
#include "edl/model/view.h"
#include "edl/store/store.h"

namespace edl::agent {

// "/edl/v1/jobs/JOB/".
std::string job_prefix(const std::string& job);

struct Wanted {
  std::uint32_t workers = 1;
  bool stop = false;
  std::string by{};
  std::string reason{};
};
Json wanted_json(const Wanted& wanted);

// An agent on another machine, which carries `workers` of those that are wanted.
struct Share {
  std::uint32_t workers = 0;
  store::Revision since = 0;
  std::string host{};
};

struct JobPicture {
  std::string prefix{};
  Json spec{};
  Json leader{};
  Json checkpoint{};
  Json save{};  // the newest wish for a checkpoint
  Json progress{};
  Json result{};
  Json effect{};
  Json replace{};
  Json change{};  // why the next view is about to come
  Json agent{};   // of mode stop-resume: the agent of `edl run`, while it is there
  Json round{};   // of mode stop-resume: all that the key `view` says
  std::optional<Wanted> wanted{};
  std::optional<model::View> view{};
  std::map<std::string, Json> members{};
  std::map<std::string, Share> shares{};
  std::map<std::string, store::Revision> revisions{};  // of every key, by its name after the prefix

  void take(const store::Fact& fact);

  store::Revision revision(const std::string& name) const;
  bool is_alive(const std::string& member) const;
  std::uint32_t alive() const;
  // Its entry in the view, which lies at its rank; null when it is no member.
  const model::Member* in_view(const std::string& worker) const;
  // Which worker is to get a successor, because it stays slow; empty when none is.
  std::string replaced_id() const;
  // Who leads, as the leader's key says; empty when nobody does.
  std::string leader_id() const;

 private:
  void put(const std::string& name, const store::KeyValue& kv);
  void remove(const std::string& name);
};

// How many of the wanted workers are for agent `id` to keep; "" is the agent of `edl run`, which
// has what the others leave. All agents come to the same answer.
std::uint32_t share_of(const JobPicture& picture, const std::string& id);

}  // namespace edl::agent
