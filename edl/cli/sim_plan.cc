// `edl sim plan`: one decision; `edl sim generate`: a trace out of a seed.
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/sim_commands.h"
#include "edl/cli/sim_options.h"
#include "edl/scheduler/policy.h"
#include "edl/scheduler/snapshot_json.h"
#include "edl/simulator/generator.h"

namespace edl::cli {
namespace {

class SimPlan final : public Command {
 public:
  explicit SimPlan(CLI::App& app) {
    app.add_option("--snapshot", snapshot_, "file with the cluster and its jobs, as JSON")
        ->required()
        ->type_name("FILE");
    add_policy(app, policy_);
    app.add_flag("--rules", rules_, "EDL's rules of steadiness for every policy");
    app.add_flag("--json", json_, "answer with one JSON object");
  }

  Result<void> run(Output& out) override {
    EDL_TRY(const scheduler::Policy* policy, scheduler::find_policy(policy_));
    CommandDisk files;
    EDL_TRY(const Bytes bytes,
            os::read_file(files.disk(), snapshot_, scheduler::kSnapshotBytesMax));
    const auto snapshot = scheduler::parse_snapshot(text_of(bytes));
    if (!snapshot.ok()) {
      return Error{snapshot.error().code, text("file ", snapshot_, ": ", snapshot.error().message)};
    }
    const scheduler::Plan plan = scheduler::plan(*snapshot, *policy, {.rules = rules_});
    if (json_) {
      out.add(json_line(scheduler::plan_json(*snapshot, plan)) + "\n");
      return {};
    }
    for (std::size_t j = 0; j < plan.allocations.size(); ++j) {
      std::string where;
      for (const scheduler::Share& share : plan.allocations[j].workers) {
        where += text(where.empty() ? " on " : ", ", snapshot->nodes[share.node].name, " x ",
                      share.count);
      }
      out.add(text(snapshot->jobs[j].name, ": ", scheduler::workers_of(plan.allocations[j].workers),
                   where, "; ", plan.allocations[j].reason, "\n"));
    }
    return {};
  }

 private:
  std::string snapshot_;
  std::string policy_ = "ours";
  bool rules_ = false;
  bool json_ = false;
};

class SimGenerate final : public Command {
 public:
  explicit SimGenerate(CLI::App& app) {
    add_number(app, "--jobs", options_.jobs, "how many; 100 when not given");
    add_number(app, "--seed", options_.seed, "of all chance; 1 when not given");
    app.add_option("--mean-gap", options_.mean_gap_s, "seconds between arrivals; 60 when not given")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    app.add_flag("--bursty", options_.bursty, "several come at once");
  }
  Result<void> run(Output& out) override {
    constexpr std::uint64_t kJobsMax = 10000000;
    if (options_.jobs > kJobsMax) {
      return Error{Code::kInvalid, text("--jobs=", options_.jobs, " is above ", kJobsMax)};
    }
    out.add(simulator::generate_trace(options_));
    return {};
  }

 private:
  simulator::GeneratorOptions options_;
};

}  // namespace

void add_sim_plan(CommandLine& line, CLI::App& sim) {
  line.add<SimPlan>(
      sim, {"plan", "Decide once.", "edl sim plan --snapshot=cluster.json --policy=ours --json"});
  line.add<SimGenerate>(sim, {"generate", "Write a trace out of a seed.",
                              "edl sim generate --jobs=200 --seed=7 > jobs.csv"});
}

}  // namespace edl::cli
