// A view: who trains together from which step on, and how. It is never edited, only replaced by one
// of a higher generation. Everything that can change between two steps changes only by a view.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/batch.h"
#include "edl/model/ids.h"
#include "edl/model/ramp.h"

namespace edl::model {

// Why a view replaced the one before it; the list is closed.
enum class Cause {
  kStart,
  kJoin,
  kLeave,
  kDeath,
  kScale,
  kPreempt,
  kStraggler,
  kRebalance,
  kBatch,
  kResume,
};
std::string_view name(Cause cause);
Result<Cause> parse_cause(std::string_view word);

struct Member {
  WorkerId id;
  std::string address;
  std::string host;
  std::vector<LogicalWorker> logical;  // that it carries, ascending; may be empty

  bool operator==(const Member&) const = default;
};

// Those who trained a step: how many, in which view.
struct Crowd {
  Generation generation;
  std::uint32_t members = 0;

  bool operator==(const Crowd&) const = default;
};
void to_json(Json& json, const Crowd& crowd);
Result<Crowd> crowd_from(const Json& json);

struct View {
  Generation generation;
  Lane lane;
  std::vector<Member> members;  // in rank order: survivors keep theirs, joiners come last
  Step first_step;
  Epoch epoch;                 // of the first step
  std::uint64_t position = 0;  // of the first step
  Batch batch;
  double lr_factor = 1;
  Ramp ramp;
  Cause cause = Cause::kStart;
  std::string who;     // worker, person or part of EDL that it is due to
  std::string reason;  // one sentence
  std::string halt{};  // why no step follows, in one word: waiting, stopped ...; empty: it trains
  std::uint32_t replays = 0;  // by one process: the members that the view had; 0: it has its own

  Crowd crowd() const;
  std::uint32_t logical_workers() const;
  // Nothing when the worker is not a member.
  std::optional<Rank> rank_of(std::string_view id) const;
  // Nothing when no member carries it.
  std::optional<Rank> carrier_of(LogicalWorker v) const;
  bool operator==(const View&) const = default;
};

// Each logical worker from 0 on has exactly one carrier, no worker is twice a member, there are not
// more members than logical workers, and the batch can be split among these.
Result<void> validate(const View& view);

// The fields of the event `view`. Reading validates.
void to_json(Json& json, const View& view);
Result<View> view_from(const Json& json);

}  // namespace edl::model
