#include "edl/simulator/summary.h"

#include <algorithm>
#include <cmath>

#include "edl/base/json_object.h"

namespace edl::simulator {

double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarise(const Outcome& outcome, std::string policy, std::string trace) {
  Summary out{.policy = std::move(policy), .trace = std::move(trace), .jobs = outcome.jobs.size()};
  if (outcome.jobs.empty()) return out;
  const auto count = static_cast<double>(outcome.jobs.size());
  std::vector<double> times;
  double first = outcome.jobs.front().submitted;
  for (const JobOutcome& job : outcome.jobs) {
    times.push_back(job.finished - job.submitted);
    first = std::min(first, job.submitted);
    out.avg_jct_s += times.back() / count;
    out.avg_wait_s += (job.started - job.submitted) / count;
    out.max_wait_s = std::max(out.max_wait_s, job.started - job.submitted);
    out.changes_per_job += job.changes / count;
    out.worst_ftf = std::max(out.worst_ftf, job.fair_ratio);
  }
  std::sort(times.begin(), times.end());
  out.p50_jct_s = percentile(times, 0.5);
  out.p95_jct_s = percentile(times, 0.95);
  out.p99_jct_s = percentile(times, 0.99);
  out.makespan_s = outcome.ended - first;
  out.avg_queue = outcome.queue_seconds / std::max(out.makespan_s, 1e-9);
  out.utilisation = outcome.used_slot_seconds / std::max(outcome.slot_seconds, 1e-9);
  std::vector<double> plans = outcome.plan_seconds;
  std::sort(plans.begin(), plans.end());
  out.plan_ms_p50 = 1000 * percentile(plans, 0.5);
  out.plan_ms_max = 1000 * percentile(plans, 1);
  return out;
}

Json summary_json(const Summary& s) {
  return json_object({{"policy", s.policy},
                      {"trace", s.trace},
                      {"jobs", s.jobs},
                      {"avg_jct_s", s.avg_jct_s},
                      {"p50_jct_s", s.p50_jct_s},
                      {"p95_jct_s", s.p95_jct_s},
                      {"p99_jct_s", s.p99_jct_s},
                      {"makespan_s", s.makespan_s},
                      {"avg_wait_s", s.avg_wait_s},
                      {"max_wait_s", s.max_wait_s},
                      {"avg_queue", s.avg_queue},
                      {"utilisation", s.utilisation},
                      {"changes_per_job", s.changes_per_job},
                      {"worst_ftf", s.worst_ftf},
                      {"plan_ms_p50", s.plan_ms_p50},
                      {"plan_ms_max", s.plan_ms_max}});
}

Result<Summary> summary_from(const Json& json) {
  Summary s;
  JsonReader in(json, "summary");
  in.read("policy", s.policy);
  in.read("trace", s.trace);
  in.read("jobs", s.jobs);
  in.read("avg_jct_s", s.avg_jct_s);
  in.read("p50_jct_s", s.p50_jct_s);
  in.read("p95_jct_s", s.p95_jct_s);
  in.read("p99_jct_s", s.p99_jct_s);
  in.read("makespan_s", s.makespan_s);
  in.read("avg_wait_s", s.avg_wait_s);
  in.read("max_wait_s", s.max_wait_s);
  in.read("avg_queue", s.avg_queue);
  in.read("utilisation", s.utilisation);
  in.read("changes_per_job", s.changes_per_job);
  in.read("worst_ftf", s.worst_ftf);
  in.read("plan_ms_p50", s.plan_ms_p50);
  in.read("plan_ms_max", s.plan_ms_max);
  EDL_TRY(in.finish());
  return s;
}

Json job_json(const JobOutcome& job) {
  return json_object({{"name", job.name},
                      {"submit_s", job.submitted},
                      {"start_s", job.started},
                      {"finish_s", job.finished}});
}

}  // namespace edl::simulator
