// The events of a job on their way to people and to events.jsonl: which of them are told, each once
// and in good order, and how a line looks. Plain state.
//
// Workers report; when the one that reports changes, the new one may tell again what was told. A
// step is told again only after a view of cause `resume` went back behind it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "edl/base/json.h"
#include "edl/base/time.h"
#include "edl/model/sample_count.h"

namespace edl::agent {

using OrderedJson = nlohmann::ordered_json;

struct EventRules {
  bool all_steps = false;
  // Of the data set; with it the last step of an epoch is known.
  model::SampleCount samples = model::SampleCount::unknown();
  std::uint64_t steps = 0;  // to train in all; the last one is always told
  Duration step_every = 100ms;
};

// From where a new reporter has to begin.
struct ReportFrom {
  std::uint64_t step = 1;
  std::uint64_t generation = 1;
};

class EventLog {
 public:
  explicit EventLog(EventRules rules = {}) : rules_(rules) {}

  // The event as it is told, or nothing when it is not. `event` has "event" and may have "at", the
  // wall time in seconds at which it happened; else it happened `now`.
  std::optional<OrderedJson> take(const Json& event, WallTime now);
  // Takes note of an event that an earlier run told.
  void remember(const Json& event);

  ReportFrom report_from() const { return {last_step_ + 1, generation_}; }
  bool ended() const { return ended_; }

 private:
  OrderedJson told(const Json& event, double time) const;
  bool is_wanted(const Json& event, double time);
  bool is_wanted_step(const Json& step, double time);
  bool is_wanted_view(const Json& view);
  bool is_new(const Json& event);

  const EventRules rules_;
  std::uint64_t last_step_ = 0;
  std::uint64_t last_checkpoint_ = 0;
  std::uint64_t generation_ = 0;  // of the newest view that was told
  std::uint64_t effect_ = 0;      // of the newest view whose effect was told
  std::uint64_t lost_ = 0;        // steps that the newest view went back behind
  double last_step_time_ = 0;
  std::map<std::string, std::uint64_t> metrics_;  // the last step of each
  std::map<std::string, std::string> workers_;    // what was told of each last
  bool ended_ = false;
};

// Fields in the order in which people read them: the event, the time, then as documented.
OrderedJson in_order(const Json& event, double time);
// Seconds since 1970 with microseconds.
double wall_seconds(WallTime time);
// One line with its end.
std::string event_line(const OrderedJson& event);

}  // namespace edl::agent
