#include <algorithm>
#include <array>
#include <cmath>

#include "edl/base/text.h"
#include "edl/cli/sim_commands.h"

namespace edl::cli {
namespace {

struct Column {
  const char* name;
  double simulator::Summary::*value;
  int decimals;
};

constexpr std::array kColumns = {
    Column{"avg_jct_s", &simulator::Summary::avg_jct_s, 0},
    Column{"p50_jct_s", &simulator::Summary::p50_jct_s, 0},
    Column{"p95_jct_s", &simulator::Summary::p95_jct_s, 0},
    Column{"p99_jct_s", &simulator::Summary::p99_jct_s, 0},
    Column{"makespan_s", &simulator::Summary::makespan_s, 0},
    Column{"avg_wait_s", &simulator::Summary::avg_wait_s, 0},
    Column{"max_wait_s", &simulator::Summary::max_wait_s, 0},
    Column{"avg_queue", &simulator::Summary::avg_queue, 1},
    Column{"utilisation", &simulator::Summary::utilisation, 3},
    Column{"changes_per_job", &simulator::Summary::changes_per_job, 2},
    Column{"worst_ftf", &simulator::Summary::worst_ftf, 2},
    Column{"plan_ms_p50", &simulator::Summary::plan_ms_p50, 2},
    Column{"plan_ms_max", &simulator::Summary::plan_ms_max, 2},
};

std::string fixed(double value, int decimals) {
  std::string digits = std::to_string(value);  // six decimals
  const std::size_t point = digits.find('.');
  if (point == std::string::npos) return digits;
  const double scale = std::pow(10, decimals);
  digits = std::to_string(std::round(value * scale) / scale);
  return digits.substr(0, digits.find('.') + (decimals == 0 ? 0 : 1 + decimals));
}

std::string padded(const std::string& word, std::size_t width) {
  return std::string(width - std::min(width, word.size()), ' ') + word;
}

// Of each policy that ran several traces, what it comes to on average.
std::vector<simulator::Summary> means(std::span<const simulator::Summary> runs) {
  std::vector<simulator::Summary> out;
  for (const simulator::Summary& first : runs) {
    const auto same = [&](const simulator::Summary& run) { return run.policy == first.policy; };
    const auto count = std::count_if(runs.begin(), runs.end(), same);
    if (count < 2 || std::any_of(out.begin(), out.end(), same)) continue;
    simulator::Summary& mean = out.emplace_back();
    mean.policy = first.policy;
    mean.trace = text("mean of ", count);
    for (const simulator::Summary& run : runs) {
      if (!same(run)) continue;
      mean.jobs += run.jobs;
      for (const Column& column : kColumns) {
        mean.*column.value += run.*column.value / static_cast<double>(count);
      }
    }
  }
  return out;
}

}  // namespace

std::string summary_table(std::span<const simulator::Summary> all) {
  std::vector<simulator::Summary> runs(all.begin(), all.end());
  for (simulator::Summary& mean : means(all)) runs.push_back(std::move(mean));
  std::size_t policy_width = 6;
  std::size_t trace_width = 5;
  for (const simulator::Summary& run : runs) {
    policy_width = std::max(policy_width, run.policy.size());
    trace_width = std::max(trace_width, run.trace.size());
  }
  std::string out =
      text(padded("policy", policy_width), " ", padded("trace", trace_width), "   jobs");
  for (const Column& column : kColumns) out += text("  ", padded(column.name, 9));
  out += "\n";
  for (const simulator::Summary& run : runs) {
    out += text(padded(run.policy, policy_width), " ", padded(run.trace, trace_width), " ",
                padded(std::to_string(run.jobs), 6));
    for (const Column& column : kColumns) {
      const std::size_t width = std::max<std::size_t>(9, std::string_view(column.name).size());
      out += text("  ", padded(fixed(run.*column.value, column.decimals), width));
    }
    out += "\n";
  }
  return out;
}

std::string summary_csv(std::span<const simulator::Summary> runs) {
  std::string out = "policy,trace,jobs";
  for (const Column& column : kColumns) out += text(",", column.name);
  out += "\n";
  for (const simulator::Summary& run : runs) {
    out += text(run.policy, ",", run.trace, ",", run.jobs);
    for (const Column& column : kColumns) out += text(",", run.*column.value);
    out += "\n";
  }
  return out;
}

}  // namespace edl::cli
