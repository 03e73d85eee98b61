// `edl sim`: what a policy makes of a trace, without a cluster.
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/sim_commands.h"
#include "edl/cli/sim_options.h"
#include "edl/scheduler/policy.h"
#include "edl/simulator/report.h"
#include "edl/simulator/summary.h"

namespace edl::cli {
namespace {

class SimRun final : public Command {
 public:
  explicit SimRun(CLI::App& app) {
    app.add_option("--trace", trace_, "file with the jobs")->required()->type_name("FILE");
    add_policy(app, policy_);
    add_sim_options(app, words_);
    app.add_flag("--jobs", jobs_, "tell of each job too");
    app.add_flag("--csv", csv_, "answer as comma-separated values");
    app.add_option("--report", report_, "write a page with plots there")->type_name("FILE");
    app.add_flag("--timeline", timeline_, "for compare: the whole outcome")->group("");
    app.add_flag("--json", json_, "answer with JSON objects, one a line");
  }

  Result<void> run(Output& out) override {
    EDL_TRY(const scheduler::Policy* policy, scheduler::find_policy(policy_));
    EDL_TRY(simulator::SimulationOptions options, sim_options(words_, *policy));
    CommandDisk files;
    options.clock = [&files] { return seconds(files.now().time_since_epoch()); };
    EDL_TRY(const simulator::Trace trace,
            simulator::read_trace(files.disk(), trace_, words_.profiles));
    options.keep_timeline = timeline_ || !report_.empty();
    EDL_TRY(const simulator::Outcome outcome, simulator::simulate(trace, *policy, options));
    const auto summary = simulator::summarise(outcome, std::string(policy->name), trace.name);
    if (json_) {
      out.add(json_line(simulator::summary_json(summary)) + "\n");
    } else {
      out.add(csv_ ? summary_csv(std::span(&summary, 1)) : summary_table(std::span(&summary, 1)));
    }
    if (timeline_) out.add(json_line(simulator::outcome_json(outcome)) + "\n");
    if (!report_.empty()) {
      const std::string page = simulator::html_report({{summary, outcome}});
      EDL_TRY(os::replace_file(files.disk(), report_, bytes_of(page)));
    }
    if (jobs_) tell_jobs(outcome, out);
    return {};
  }

 private:
  void tell_jobs(const simulator::Outcome& outcome, Output& out) const {
    for (const simulator::JobOutcome& job : outcome.jobs) {
      if (!out.open()) return;
      out.add(json_
                  ? json_line(simulator::job_json(job)) + "\n"
                  : text("  ", job.name, ": submitted ", job.submitted, " s, started ", job.started,
                         " s, finished ", job.finished, " s, ", job.changes, " changes\n"));
    }
  }

  std::string trace_;
  std::string policy_ = "ours";
  SimWords words_;
  std::string report_;
  bool timeline_ = false;
  bool csv_ = false;
  bool jobs_ = false;
  bool json_ = false;
};

class SimPolicies final : public Command {
 public:
  explicit SimPolicies(CLI::App& app) {
    app.add_flag("--json", json_, "answer with JSON objects, one a line");
  }
  Result<void> run(Output& out) override {
    for (const scheduler::Policy* policy : scheduler::policies()) {
      out.add(json_ ? json_line({{"policy", policy->name}, {"about", policy->about}}) + "\n"
                    : text(policy->name, std::string(18 - policy->name.size(), ' '), policy->about,
                           "\n"));
    }
    return {};
  }

 private:
  bool json_ = false;
};

}  // namespace

void add_sim(CommandLine& line, Console& console) {
  CLI::App& sim =
      line.add_group(line.root(), {"sim", "Try scheduling policies on traces of jobs.",
                                   "edl sim run --trace=jobs.csv --policy=ours --nodes=16x4"});
  line.add<SimRun>(sim, {"run", "Run a trace under a policy.",
                         "edl sim run --trace=jobs.csv --policy=ours --nodes=16x4 --json"});
  add_sim_compare(line, sim, console);
  add_sim_plan(line, sim);
  add_sim_experiments(line, sim);
  add_sim_autoscale(line, sim);
  line.add<SimPolicies>(sim, {"policies", "List the policies.", "edl sim policies"});
}

}  // namespace edl::cli
