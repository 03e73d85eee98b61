// `edl sim experiment`: the two experiments of the EDL project, with jobs that can change their
// size and with jobs that cannot.
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/sim_commands.h"
#include "edl/scheduler/policy.h"
#include "edl/simulator/experiments.h"
#include "edl/simulator/report.h"

namespace edl::cli {
namespace {

using Experiment = Result<simulator::ExperimentResult> (*)();

class SimExperiment final : public Command {
 public:
  SimExperiment(CLI::App& app, Experiment experiment) : experiment_(experiment) {
    app.add_option("--report", report_, "write a page with plots there")->type_name("FILE");
    app.add_flag("--json", json_, "answer with JSON objects, one a line");
  }

  Result<void> run(Output& out) override {
    EDL_TRY(const simulator::ExperimentResult result, experiment_());
    if (!report_.empty()) {
      CommandDisk files;
      const std::string page = simulator::html_report(result.runs, result.preface);
      EDL_TRY(os::replace_file(files.disk(), report_, bytes_of(page)));
    }
    if (json_) {
      for (const Json& row : result.rows) out.add(json_line(row) + "\n");
      return {};
    }
    out.add(result.preface.words);
    return {};
  }

 private:
  Experiment experiment_;
  std::string report_;
  bool json_ = false;
};

}  // namespace

void add_sim_experiments(CommandLine& line, CLI::App& sim) {
  CLI::App& group =
      line.add_group(sim, {"experiment", "What elastic jobs are worth, in two experiments.",
                           "edl sim experiment pending"});
  line.add<SimExperiment>(group,
                          {"pending", "Twenty equal jobs that come ten seconds apart.",
                           "edl sim experiment pending --report=pending.html"},
                          &simulator::pending_experiment);
  line.add<SimExperiment>(group,
                          {"harvest", "Training beside a service that shrinks and grows.",
                           "edl sim experiment harvest --report=harvest.html"},
                          &simulator::harvest_experiment);
}

}  // namespace edl::cli
