// Where training stands in the data, and what the next step takes from there. Position, not step,
// orders the data: a step takes the next M positions of the epoch and never crosses its end.
#pragma once

#include <cstdint>
#include <optional>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/ids.h"

namespace edl::model {

// After `step` steps the next one begins at `position` of `epoch`. After an epoch's last step that
// is (epoch + 1, 0), so that `position` always lies within the epoch.
struct Position {
  Epoch epoch;
  std::uint64_t position = 0;
  Step step;

  bool operator==(const Position&) const = default;
};

// Refuses a position that a data set of `samples` does not have.
Result<void> validate(const Position& position, std::uint64_t samples);

void to_json(Json& json, const Position& position);
Result<Position> position_from(const Json& json);

// Positions [from, to) of one epoch.
struct PositionRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;

  std::uint64_t size() const { return to - from; }
  bool operator==(const PositionRange&) const = default;
};

// What one step trains: `positions` of `epoch`, split into parts.
struct StepPlan {
  Step step;
  Epoch epoch;
  PositionRange positions;
  bool ends_epoch = false;

  PositionRange part(LogicalWorker v, std::uint32_t logical_workers) const;
  // Where the step after this one begins.
  Position after() const;
};

// `here` lies within an epoch of `samples`; `batch` is at least 1.
StepPlan next_step(const Position& here, std::uint64_t samples, std::uint64_t batch);

// What is known of a stream: how many records it has so far, and whether these are all. It is
// trained in one epoch, in its order.
struct StreamExtent {
  std::uint64_t records = 0;
  bool has_ended = false;
  bool operator==(const StreamExtent&) const = default;
};
// Nothing until it is known whether the step is the last one, which must not depend on who asks
// and when: there is a record behind it, or the stream has ended.
std::optional<StepPlan> next_step(const Position& here, const StreamExtent& extent,
                                  std::uint64_t batch);

}  // namespace edl::model
