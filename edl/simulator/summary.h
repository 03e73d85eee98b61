// What a run comes to, in the numbers that policies are compared by.
#pragma once

#include <string>

#include "edl/base/json.h"
#include "edl/simulator/simulation.h"

namespace edl::simulator {

struct Summary {
  std::string policy{};
  std::string trace{};
  std::size_t jobs = 0;
  double avg_jct_s = 0;
  double p50_jct_s = 0;
  double p95_jct_s = 0;
  double p99_jct_s = 0;
  double makespan_s = 0;
  double avg_wait_s = 0;
  double max_wait_s = 0;
  double avg_queue = 0;
  double utilisation = 0;
  double changes_per_job = 0;
  double worst_ftf = 0;
  double plan_ms_p50 = 0;
  double plan_ms_max = 0;
};

Summary summarise(const Outcome& outcome, std::string policy, std::string trace);

// The fields of the contract, in its order of writing.
Json summary_json(const Summary& summary);
Result<Summary> summary_from(const Json& json);
Json job_json(const JobOutcome& job);

// Of sorted values; between two of them it is linear. 0 of none.
double percentile(const std::vector<double>& sorted, double share);

}  // namespace edl::simulator
