// `edl sim autoscale`: one job of a trace alone, by N workers every K steps.
#include <algorithm>

#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/sim_commands.h"
#include "edl/cli/sim_options.h"
#include "edl/simulator/alone.h"

namespace edl::cli {
namespace {

class SimAutoscale final : public Command {
 public:
  explicit SimAutoscale(CLI::App& app) {
    app.add_option("--trace", trace_, "file with the job")->required()->type_name("FILE");
    app.add_option("--profiles", profiles_, "folder with what was measured of the programs")
        ->type_name("DIR");
    app.add_option("--job", job_, "its name; the first of the trace when not given")
        ->type_name("NAME");
    add_number(app, "--start", start_, "workers at first; what it wants when not given");
    add_number(app, "--most", most_, "workers that there is room for; 64 when not given");
    add_number(app, "--node-slots", node_slots_, "workers that a node holds; 4 when not given");
    add_number(app, "--by", by_, "workers at once; 1 when not given");
    add_number(app, "--every", every_, "steps between changes; 50 when not given");
    add_number(app, "--seed", options_.seed, "of all chance; 1 when not given");
    const auto amount = [&](const std::string& name, double& into, const std::string& about) {
      app.add_option(name, into, about)->check(CLI::NonNegativeNumber.description(""));
    };
    amount("--least", options_.rules.least_efficiency,
           "S, what a worker must add, as a share of one; 0.1 when not given");
    amount("--value-of-time", options_.rules.value_of_time, "what a second sooner is worth");
    amount("--price-of-worker", options_.rules.price_of_worker, "of a worker, for a second");
    amount("--change-seconds", options_.change_seconds, "that a change takes; 30 when not given");
    app.add_option("--noise", options_.noise, "share by which a step is faster or slower")
        ->type_name("0..0.9")
        ->check(CLI::Range(0.0, 0.9).description(""));
    app.add_flag("--json", json_, "answer with JSON objects, one a line");
  }

  Result<void> run(Output& out) override {
    constexpr std::uint64_t kMost = 1 << 16;
    for (const std::uint64_t count : {most_, node_slots_, by_, every_}) {
      if (count == 0 || count > kMost) {
        return Error{Code::kInvalid, text("numbers of workers and steps are from 1 to ", kMost)};
      }
    }
    options_.start = static_cast<std::uint32_t>(std::min(start_, kMost));
    options_.workers_max = static_cast<std::uint32_t>(most_);
    options_.node_slots = static_cast<std::uint32_t>(node_slots_);
    options_.rules.by = static_cast<std::uint32_t>(by_);
    options_.rules.every_steps = every_;
    CommandDisk files;
    EDL_TRY(const simulator::Trace trace, simulator::read_trace(files.disk(), trace_, profiles_));
    const auto job = std::find_if(
        trace.jobs.begin(), trace.jobs.end(),
        [&](const simulator::TraceJob& one) { return job_.empty() || one.name == job_; });
    if (job == trace.jobs.end()) {
      return Error{Code::kNotFound, text("trace ", trace_, " has no job ", job_)};
    }
    EDL_TRY(const simulator::AloneOutcome outcome, simulator::run_alone(*job, options_));
    tell(outcome, out);
    return {};
  }

 private:
  void tell(const simulator::AloneOutcome& outcome, Output& out) const {
    if (json_) {
      for (const Json& row : simulator::alone_rows(outcome)) out.add(json_line(row) + "\n");
      return;
    }
    for (const simulator::AloneDecision& one : outcome.decisions) {
      out.add(text(one.at, " s: ", one.reason, "\n"));
    }
    for (const auto& [workers, one] : outcome.learned) {
      out.add(text("  ", workers, workers == 1 ? " worker: " : " workers: ", one.mean,
                   " steps a second, mean of ", one.count, "\n"));
    }
    out.add(text(outcome.steps, " steps in ", outcome.seconds, " s, ", outcome.worker_seconds,
                 " worker seconds\n"));
  }

  std::string trace_;
  std::string profiles_;
  std::string job_;
  simulator::AloneOptions options_;
  std::uint64_t start_ = 0;
  std::uint64_t most_ = 64;
  std::uint64_t node_slots_ = 4;
  std::uint64_t by_ = 1;
  std::uint64_t every_ = 50;
  bool json_ = false;
};

}  // namespace

void add_sim_autoscale(CommandLine& line, CLI::App& sim) {
  line.add<SimAutoscale>(sim,
                         {"autoscale", "Run one job alone, with as many workers as add enough.",
                          "edl sim autoscale --trace=jobs.csv --job=job-0 --least=0.5"});
}

}  // namespace edl::cli
