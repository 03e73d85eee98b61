#include "edl/model/position.h"

#include <algorithm>

#include "edl/base/json_object.h"
#include "edl/model/batch.h"

namespace edl::model {

Result<void> validate(const Position& position, std::uint64_t samples) {
  if (samples == 0) return Error{Code::kInvalid, "a data set without samples trains nothing"};
  if (position.position < samples) return {};
  return Error{Code::kInvalid, text("cannot continue at position ", position.position, " of epoch ",
                                    position.epoch, ": the data set has ", samples,
                                    " samples. Use the data set that training began with.")};
}

void to_json(Json& json, const Position& position) {
  json = json_object(
      {{"epoch", position.epoch}, {"position", position.position}, {"step", position.step}});
}

Result<Position> position_from(const Json& json) {
  JsonReader in(json, "position");
  Position position;
  in.read("epoch", position.epoch);
  in.read("position", position.position);
  in.read("step", position.step);
  EDL_TRY(in.finish());
  return position;
}

StepPlan next_step(const Position& here, std::uint64_t samples, std::uint64_t batch) {
  EDL_CHECK(here.position < samples && batch > 0);
  const std::uint64_t left = samples - here.position;
  const std::uint64_t taken = std::min(batch, left);
  return {.step = here.step.next(),
          .epoch = here.epoch,
          .positions = {here.position, here.position + taken},
          .ends_epoch = taken == left};
}

std::optional<StepPlan> next_step(const Position& here, const StreamExtent& extent,
                                  std::uint64_t batch) {
  EDL_CHECK(batch > 0);
  if (here.position >= extent.records) return std::nullopt;
  const bool is_covered = extent.records - here.position > batch;
  if (!is_covered && !extent.has_ended) return std::nullopt;
  return next_step(here, extent.records, batch);
}

PositionRange StepPlan::part(LogicalWorker v, std::uint32_t logical_workers) const {
  const std::uint64_t begin = positions.from + part_begin(positions.size(), logical_workers, v);
  return {begin, begin + part_size(positions.size(), logical_workers, v)};
}

Position StepPlan::after() const {
  if (ends_epoch) return {epoch.next(), 0, step};
  return {epoch, positions.to, step};
}

}  // namespace edl::model
