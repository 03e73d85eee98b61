// A round: one generation of a job in mode stop-resume. All its workers start together, on one or
// several agents, and end together; the next round has other workers. Plain values.
//
// It is the store's key `view`: a view in which each worker carries the part of its own rank, and
// beside it which agent starts whom and where the workers find each other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "edl/model/view.h"

namespace edl::agent {

// The workers of one agent, in the order of their ranks.
struct RoundGroup {
  std::string agent{};  // empty: the agent of `edl run`
  std::string host{};
  std::vector<model::WorkerId> workers{};

  bool operator==(const RoundGroup&) const = default;
};

struct Round {
  model::View view{};
  std::vector<RoundGroup> groups{};  // ranks go through them one after the other
  std::string master_host{};         // where the worker of rank 0 can be reached
  std::uint16_t master_port = 0;     // that was free there

  bool operator==(const Round&) const = default;
};

struct RoundPlan {
  model::Generation generation{};
  std::vector<RoundGroup> groups{};
  std::string master_host{};
  std::uint16_t master_port = 0;
  model::Cause cause = model::Cause::kStart;
  std::string who{};
  std::string reason{};
};
Round make_round(const RoundPlan& plan);

// Reading validates: who is in a group is a member, in the same order.
Json round_json(const Round& round);
Result<Round> round_from(const Json& json);

// The event `view`. What EDL does not know of a program that it does not drive is null.
Json round_event(const Round& round);

// Those of one agent; empty when it has none.
std::vector<model::WorkerId> workers_of(const Round& round, const std::string& agent);

// How many of `wanted` workers each agent has: the agent of `edl run` at least one, the guests what
// they lend, first come, first served; it has what they leave.
struct GuestOffer {
  std::string agent{};
  std::uint32_t workers = 0;
};
std::vector<std::uint32_t> split_among(std::uint32_t wanted, const std::vector<GuestOffer>& guests);

// What a worker finds in its environment beside what its agent has: our names, and those of
// torchrun.
using Environment = std::vector<std::pair<std::string, std::string>>;
Environment round_environment(const Round& round, const model::WorkerId& worker,
                              const std::string& job, const std::string& dir);

}  // namespace edl::agent
