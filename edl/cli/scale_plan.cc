#include "edl/cli/scale_plan.h"

#include <algorithm>
#include <cmath>

#include "edl/base/text.h"
#include "edl/model/batch.h"
#include "edl/model/job.h"

namespace edl::cli {
namespace {

std::uint32_t number(const Json& json, const char* name, std::uint32_t otherwise) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (found == json.end() || !found->is_number_unsigned()) return otherwise;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(found->get<std::uint64_t>(), model::kLogicalWorkersMax));
}

std::string hint(std::uint32_t workers, std::uint32_t logical_workers) {
  const auto useful = model::useful_sizes(logical_workers);
  if (std::find(useful.begin(), useful.end(), workers) != useful.end()) return "";
  const auto above = std::upper_bound(useful.begin(), useful.end(), workers);
  const std::uint32_t below = above == useful.begin() ? 1 : *(above - 1);
  return text(" ", workers, " are no faster than ", below, ", because the job has ",
              logical_workers, " logical workers.");
}

// The leader says what it expects, from the changes that it has seen and from how fast the store
// is.
std::optional<double> expected_pause(const agent::JobPicture& picture) {
  const Json& progress = picture.progress;
  const Json pause = progress.is_object() ? progress.value("planned_pause_ms", Json()) : Json();
  return pause.is_number() ? std::optional(pause.get<double>()) : std::nullopt;
}

// How much longer a step takes with so many workers, all of them equally fast: ceil(V / workers).
std::uint32_t parts_in_a_row(std::uint32_t logical_workers, std::uint32_t workers) {
  return (logical_workers + workers - 1) / std::max(1u, workers);
}

bool is_plain(const Json& spec) {
  const auto mode = spec.is_object() ? spec.find("mode") : spec.end();
  return mode != spec.end() && *mode == model::name(model::JobMode::kStopResume);
}

std::string cost_and_gain(const ScalePlan& plan, std::uint32_t logical_workers) {
  std::string out;
  if (plan.predicted_pause_ms) {
    out = text(" Training pauses for about ", std::ceil(*plan.predicted_pause_ms), " ms.");
  }
  const std::uint32_t before = parts_in_a_row(logical_workers, plan.from);
  const std::uint32_t after = parts_in_a_row(logical_workers, plan.to);
  if (before == after || plan.from == 0) return out;
  return out + text(" A step computes ", after, " instead of ", before, " parts in a row.");
}

}  // namespace

ScalePlan plan_scale(const std::string& job, const agent::JobPicture& picture,
                     std::uint64_t workers) {
  const bool plain = is_plain(picture.spec);
  const std::uint32_t v =
      plain ? model::kMembersMax : std::max(1u, number(picture.spec, "logical_workers", 1));
  const std::uint32_t min = number(picture.spec, "min", 1);
  const std::uint32_t max = std::min(number(picture.spec, "max", v), v);
  ScalePlan plan{.from = picture.wanted ? picture.wanted->workers : 0};
  const auto refuse = [&](std::string why) {
    plan.to = plan.from;
    plan.reason = text("cannot scale job ", job, " to ", workers, " workers: ", why);
    return plan;
  };
  if (picture.result.is_object()) return refuse("it has ended.");
  if (picture.wanted && picture.wanted->stop) return refuse("it is stopping.");
  if (workers > v) {
    return refuse(text("it has ", v, " logical workers and so room for at most ", v,
                       " workers; more logical workers are another result."));
  }
  if (workers > max) {
    return refuse(text("its limit is ", max, " (--workers). Ask for at most ", max, "."));
  }
  if (workers < min || workers < 1) {
    return refuse(text("its minimum is ", min, " (--workers). Ask for at least ", min,
                       ", or stop it with edl stop ", job, "."));
  }
  plan.accepted = true;
  plan.to = static_cast<std::uint32_t>(workers);
  plan.predicted_pause_ms = plan.to == plan.from ? 0 : expected_pause(picture);
  plan.reason = plan.to == plan.from
                    ? text("Job ", job, " wants ", workers, " workers already.")
                    : text("Job ", job, " goes from ", plan.from, " to ", workers, " workers.");
  if (plan.to != plan.from && plain) {
    plan.reason += text(" All workers are stopped, then ", plan.to, " are started.");
  }
  if (plan.to != plan.from) plan.reason += cost_and_gain(plan, plain ? 0 : v);
  if (!plain) plan.reason += hint(plan.to, v);
  return plan;
}

}  // namespace edl::cli
