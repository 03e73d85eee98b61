#include "edl/simulator/report.h"

#include <algorithm>
#include <map>

#include "edl/base/json_object.h"
#include "edl/simulator/plot.h"

namespace edl::simulator {
namespace {

constexpr std::size_t kPointsMax = 1500;  // of a curve; more are not seen

constexpr const char* kHead =
    "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
    "<style>body{font-family:sans-serif;max-width:1340px;margin:1em auto;color:#222}"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:3px 8px;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    ".best{font-weight:bold}.plots{display:grid;grid-template-columns:repeat(auto-fit,"
    "minmax(560px,1fr));gap:12px}svg{width:100%;border:1px solid #eee}</style>";

template <class T>
std::vector<T> thinned(const std::vector<T>& all) {
  if (all.size() <= kPointsMax) return all;
  std::vector<T> out;
  for (std::size_t i = 0; i < kPointsMax; ++i) out.push_back(all[i * all.size() / kPointsMax]);
  return out;
}

std::string cell(double value) {
  const std::string digits = std::to_string(value);
  return text("<td>", digits.substr(0, digits.find('.') + (value < 100 ? 3 : 0)), "</td>");
}

std::string table(const std::vector<const ReportRun*>& runs) {
  std::string out =
      "<table><tr><th>policy</th><th>jobs</th><th>mean s</th><th>p50 s</th><th>p95 s</th>"
      "<th>p99 s</th><th>makespan s</th><th>mean wait s</th><th>longest wait s</th>"
      "<th>waiting jobs</th><th>utilisation</th><th>changes a job</th><th>worst fairness</th>"
      "<th>plan ms</th></tr>\n";
  double best = 1e300;
  for (const ReportRun* run : runs) best = std::min(best, run->summary.avg_jct_s);
  for (const ReportRun* run : runs) {
    const Summary& s = run->summary;
    out += text("<tr", s.avg_jct_s == best ? " class='best'" : "", "><td>", escaped(s.policy),
                "</td><td>", s.jobs, "</td>");
    for (const double value : {s.avg_jct_s, s.p50_jct_s, s.p95_jct_s, s.p99_jct_s, s.makespan_s,
                               s.avg_wait_s, s.max_wait_s, s.avg_queue, s.utilisation,
                               s.changes_per_job, s.worst_ftf, s.plan_ms_p50}) {
      out += cell(value);
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

Curve distribution(const ReportRun& run, bool fairness) {
  std::vector<double> values;
  for (const JobOutcome& job : run.outcome.jobs) {
    values.push_back(fairness ? job.fair_ratio : std::max(job.finished - job.submitted, 1.0));
  }
  std::sort(values.begin(), values.end());
  Curve curve{run.summary.policy, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    curve.points.emplace_back(values[i],
                              static_cast<double>(i + 1) / static_cast<double>(values.size()));
  }
  curve.points = thinned(curve.points);
  return curve;
}

Curve over_time(const ReportRun& run, bool queue) {
  Curve curve{run.summary.policy, {}};
  for (const Moment& moment : thinned(run.outcome.timeline)) {
    const double share = moment.slots == 0
                             ? 0
                             : static_cast<double>(moment.used) / static_cast<double>(moment.slots);
    curve.points.emplace_back(moment.at / 3600, queue ? moment.waiting : share);
  }
  return curve;
}

std::string allocations(const ReportRun& run) {
  std::vector<Bar> bars;
  for (std::size_t row = 0; row < run.outcome.jobs.size(); ++row) {
    const auto& sizes = run.outcome.jobs[row].sizes;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      if (sizes[i].second == 0) continue;
      bars.push_back({row, sizes[i].first / 3600, sizes[i + 1].first / 3600,
                      static_cast<double>(sizes[i].second)});
    }
  }
  return bar_plot({.title = text("Workers of each job under ", run.summary.policy),
                   .x = "hours",
                   .y = "job, by submission"},
                  run.outcome.jobs.size(), bars);
}

std::string plots(const std::vector<const ReportRun*>& runs) {
  std::vector<Curve> times;
  std::vector<Curve> fairness;
  std::vector<Curve> queue;
  std::vector<Curve> use;
  for (const ReportRun* run : runs) {
    times.push_back(distribution(*run, false));
    fairness.push_back(distribution(*run, true));
    queue.push_back(over_time(*run, true));
    use.push_back(over_time(*run, false));
  }
  std::string out = "<div class='plots'>\n";
  out += line_plot(
      {.title = "Completion times", .x = "seconds", .y = "share of jobs", .logarithmic_x = true},
      times);
  out += line_plot({.title = "Waiting jobs", .x = "hours", .y = "jobs", .steps = true}, queue);
  out += line_plot({.title = "Slots in use", .x = "hours", .y = "share", .steps = true}, use);
  out += line_plot({.title = "Fairness: time by that of an equal share alone",
                    .x = "ratio",
                    .y = "share of jobs",
                    .logarithmic_x = true},
                   fairness);
  for (const ReportRun* run : runs) out += allocations(*run);
  return out + "</div>\n";
}

}  // namespace

std::string html_report(const std::vector<ReportRun>& runs, const Preface& preface) {
  std::vector<std::string> traces;
  std::map<std::string, std::vector<const ReportRun*>> by_trace;
  for (const ReportRun& run : runs) {
    if (!by_trace.contains(run.summary.trace)) traces.push_back(run.summary.trace);
    by_trace[run.summary.trace].push_back(&run);
  }
  const std::string title = escaped(preface.title);
  std::string out = text(kHead, "<title>", title, "</title></head><body>\n<h1>", title, "</h1>\n");
  for (const std::string_view line : split(preface.words, '\n')) {
    if (!line.empty()) out += text("<p>", escaped(std::string(line)), "</p>\n");
  }
  if (!preface.drawings.empty()) {
    out += text("<div class='plots'>\n", preface.drawings, "</div>\n");
  }
  for (const std::string& trace : traces) {
    out += text("<h2>", escaped(trace), "</h2>\n", table(by_trace[trace]), plots(by_trace[trace]));
  }
  return out + "</body></html>\n";
}

Json outcome_json(const Outcome& outcome) {
  Json jobs = Json::array();
  for (const JobOutcome& job : outcome.jobs) {
    Json sizes = Json::array();
    for (const auto& [at, workers] : job.sizes) sizes.push_back(Json::array({at, workers}));
    jobs.push_back(json_object({{"name", job.name},
                                {"submit_s", job.submitted},
                                {"start_s", job.started},
                                {"finish_s", job.finished},
                                {"fair_ratio", job.fair_ratio},
                                {"sizes", std::move(sizes)}}));
  }
  Json timeline = Json::array();
  for (const Moment& one : thinned(outcome.timeline)) {
    timeline.push_back(Json::array({one.at, one.slots, one.used, one.waiting, one.running}));
  }
  return json_object({{"outcome", std::move(jobs)}, {"timeline", std::move(timeline)}});
}

Result<Outcome> outcome_from(const Json& json) {
  Outcome out;
  JsonReader in(json, "outcome");
  in.read_list("outcome", out.jobs, [](const Json& one) -> Result<JobOutcome> {
    JobOutcome job;
    std::vector<std::vector<double>> sizes;
    JsonReader fields(one, "job");
    fields.read("name", job.name);
    fields.read("submit_s", job.submitted);
    fields.read("start_s", job.started);
    fields.read("finish_s", job.finished);
    fields.read("fair_ratio", job.fair_ratio);
    fields.read("sizes", sizes);
    EDL_TRY(fields.finish());
    for (const auto& pair : sizes) {
      if (pair.size() != 2) return Error{Code::kInvalid, "a size is no pair"};
      job.sizes.emplace_back(pair[0], static_cast<std::uint32_t>(pair[1]));
    }
    return job;
  });
  std::vector<std::vector<double>> moments;
  in.read("timeline", moments);
  EDL_TRY(in.finish());
  for (const auto& one : moments) {
    if (one.size() != 5) return Error{Code::kInvalid, "a moment has not five numbers"};
    out.timeline.push_back({one[0], static_cast<std::uint64_t>(one[1]),
                            static_cast<std::uint64_t>(one[2]), static_cast<std::uint32_t>(one[3]),
                            static_cast<std::uint32_t>(one[4])});
  }
  return out;
}

}  // namespace edl::simulator
