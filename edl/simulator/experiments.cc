#include "edl/simulator/experiments.h"

#include <algorithm>
#include <cmath>

#include "edl/base/json_object.h"
#include "edl/simulator/plot.h"
#include "edl/simulator/scaling.h"

namespace edl::simulator {
namespace {

constexpr std::uint32_t kNodeSlots = 20;
constexpr double kElasticChangeSeconds = 1;  // EDL changes a job without stopping it

struct Setting {
  std::uint32_t slots = 0;
  std::uint32_t jobs = 0;
  double gap_s = 0;
  TimedJob job{};
  std::vector<std::pair<double, std::uint32_t>> service{};  // when it takes how many slots
};

Trace trace_of(const Setting& setting, bool elastic, std::string name) {
  Trace trace{.name = std::move(name)};
  for (std::uint32_t i = 0; i < setting.jobs; ++i) {
    TraceJob job{
        .name = text("job-", i), .submitted = setting.gap_s * i, .wanted = setting.job.wanted};
    TimedJob timed = setting.job;
    if (!elastic) timed.min = timed.max = timed.wanted;
    job.make = [timed](const ModelOptions&) { return timed_job(timed); };
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

SimulationOptions options_of(const Setting& setting) {
  SimulationOptions options{.interval = 0,
                            .change_seconds = kElasticChangeSeconds,
                            .declared = true,
                            .keep_timeline = true};
  for (std::uint32_t n = 0; n < setting.slots / kNodeSlots; ++n) {
    options.nodes.push_back({.name = text("node-", n), .slots = kNodeSlots});
  }
  for (const auto& [at, slots] : setting.service) {
    std::uint32_t left = slots;
    for (std::uint32_t n = 0; n < options.nodes.size(); ++n) {
      const std::uint32_t taken = std::min(left, kNodeSlots);
      options.capacity.push_back({at, n, kNodeSlots - taken});
      left -= taken;
    }
  }
  return options;
}

Result<ReportRun> run(const Setting& setting, bool elastic, const std::string& name) {
  const Trace trace = trace_of(setting, elastic, name);
  EDL_TRY(const scheduler::Policy* policy, scheduler::find_policy(elastic ? "ours" : "fifo"));
  ReportRun out;
  EDL_TRY(out.outcome, simulate(trace, *policy, options_of(setting)));
  out.summary = summarise(out.outcome, elastic ? "elastic" : "fixed", name);
  return out;
}

// Of all slots, over the time that the service changes.
double used_share(const Setting& setting, const Outcome& outcome, double from, double to) {
  double used = 0;
  const auto& line = outcome.timeline;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double begin = std::max(line[i].at, from);
    const double end = std::min(i + 1 < line.size() ? line[i + 1].at : to, to);
    const auto service = static_cast<double>(setting.slots - line[i].slots);
    if (end > begin) used += (end - begin) * (service + static_cast<double>(line[i].used));
  }
  return used / ((to - from) * setting.slots);
}

Points pending_times(const Outcome& outcome) {
  Points points;
  for (const JobOutcome& job : outcome.jobs) {
    points.emplace_back(points.size() + 1, job.started - job.submitted);
  }
  return points;
}

// The share of all slots that training and the service have together.
Points use_of_cluster(const Setting& setting, const Outcome& outcome, double to) {
  Points points;
  for (const Moment& one : outcome.timeline) {
    if (one.at > to) break;
    const auto service = static_cast<double>(setting.slots - one.slots);
    points.emplace_back(one.at / 60, (service + static_cast<double>(one.used)) / setting.slots);
  }
  return points;
}

}  // namespace

Result<ExperimentResult> pending_experiment() {
  const Setting setting{
      .slots = 1000,
      .jobs = 20,
      .gap_s = 10,
      .job = {.seconds = 600, .wanted = 60, .min = 5, .max = 60, .serial_share = 0.005}};
  ExperimentResult result{
      .preface = {.title = "Pending time of 20 jobs that want 60 workers each of 1000 slots"}};
  std::vector<Curve> pending;
  double fixed_wait = 0;
  for (const bool elastic : {false, true}) {
    EDL_TRY(ReportRun one, run(setting, elastic, "20 jobs of 60 workers, 10 s apart"));
    Json row = summary_json(one.summary);
    row["experiment"] = "pending";
    result.rows.push_back(std::move(row));
    result.preface.words += text(
        elastic ? "elastic" : "fixed  ", ": pending ", std::round(one.summary.avg_wait_s * 10) / 10,
        " s on average, ", std::round(one.summary.max_wait_s), " s at most; completed after ",
        std::round(one.summary.avg_jct_s), " s on average, the last after ",
        std::round(one.summary.makespan_s), " s\n");
    if (elastic) {
      const double saved = fixed_wait <= 0 ? 0 : 1 - one.summary.avg_wait_s / fixed_wait;
      result.preface.words += text("pending time ", std::round(saved * 1000) / 10, " % less\n");
    }
    fixed_wait = one.summary.avg_wait_s;
    pending.push_back({one.summary.policy, pending_times(one.outcome)});
    result.runs.push_back(std::move(one));
  }
  result.preface.drawings = line_plot(
      {.title = "Pending time of each job", .x = "job, by submission", .y = "seconds"}, pending);
  return result;
}

Result<ExperimentResult> harvest_experiment() {
  // Fixed jobs can only be as large as the service leaves room for at its peak.
  Setting setting{
      .slots = 500,
      .jobs = 3,
      .gap_s = 0,
      .job = {.seconds = 30000, .wanted = 20, .min = 2, .max = 140, .serial_share = 0.002}};
  constexpr double kEnd = 5400;
  // Down from noon on, and up again.
  for (int step = 0; step <= 36; ++step) {
    const double at = kEnd * step / 36;
    const double height = std::abs(at - kEnd / 2) / (kEnd / 2);
    setting.service.emplace_back(at, static_cast<std::uint32_t>(std::lround(100 + 300 * height)));
  }
  ExperimentResult result{
      .preface = {.title =
                      "Use of a cluster with training beside a service that shrinks and grows"}};
  std::vector<Curve> use;
  for (const bool elastic : {false, true}) {
    EDL_TRY(ReportRun one, run(setting, elastic, "training beside a service of 400 to 100 slots"));
    const double share = used_share(setting, one.outcome, 0, kEnd);
    Json row = summary_json(one.summary);
    row["experiment"] = "harvest";
    row["cluster_utilisation"] = share;
    result.rows.push_back(std::move(row));
    result.preface.words +=
        text(elastic ? "elastic" : "fixed  ", ": ", std::round(share * 1000) / 10,
             " % of the cluster in use while the service changes; jobs pending ",
             std::round(one.summary.avg_wait_s), " s, completed after ",
             std::round(one.summary.avg_jct_s), " s on average\n");
    use.push_back({one.summary.policy, use_of_cluster(setting, one.outcome, kEnd)});
    result.runs.push_back(std::move(one));
  }
  result.preface.drawings = line_plot({.title = "Slots in use, by training and the service",
                                       .x = "minutes",
                                       .y = "share of the cluster",
                                       .steps = true},
                                      use);
  return result;
}

}  // namespace edl::simulator
