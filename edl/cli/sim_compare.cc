// `edl sim compare`: many policies on many traces, each run a process of its own.
#include <algorithm>

#include "edl/base/json.h"
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/progress.h"
#include "edl/cli/sim_commands.h"
#include "edl/cli/sim_options.h"
#include "edl/os/posix/machine.h"
#include "edl/scheduler/policy.h"
#include "edl/simulator/report.h"

namespace edl::cli {
namespace {

constexpr std::uint64_t kAnswerBytesMax = std::uint64_t{1} << 30;
constexpr std::size_t kBarWidth = 30;

struct CompareRun {
  std::string policy;
  std::string trace;
  std::string shown;   // of the trace
  std::string path{};  // of what it says
  std::unique_ptr<os::Child> child{};
  std::optional<os::Exit> exit{};
};

// The file's name, with as many folders before it as tell it from the others.
std::string distinct_tail(const std::string& path, const std::vector<std::string>& all) {
  std::size_t from = path.size();
  const auto is_shared = [&](const std::string& other) {
    return other != path && text("/", other).ends_with(text("/", path.substr(from)));
  };
  do {
    const std::size_t slash = from == 0 ? std::string::npos : path.rfind('/', from - 2);
    if (from < 2 || slash == std::string::npos) return path;
    from = slash + 1;
  } while (std::any_of(all.begin(), all.end(), is_shared));
  return path.substr(from);
}

// Runs all of them, as many at once as there are cores.
class Runs {
 public:
  Runs(os::PosixSystem& system, const SimWords& words, Output& talk)
      : system_(system), words_(words), talk_(talk), machine_(os::this_machine()) {}

  void add(const std::string& policy, const std::string& trace, const std::string& shown) {
    const std::string path = text("/tmp/edl-sim-", machine_.pid, "-", runs_.size(), ".json");
    runs_.push_back({policy, trace, shown, path});
  }

  Result<std::vector<simulator::ReportRun>> run() {
    for (const os::Signal signal : {os::Signal::kInterrupt, os::Signal::kTerminate}) {
      system_.on_signal(signal, [this] { stop(); });
    }
    for (std::uint32_t i = 0; i < std::max(machine_.cores, 1U); ++i) start_next();
    draw();
    if (going_ > 0) system_.run();
    Result<std::vector<simulator::ReportRun>> all = collect();
    for (const CompareRun& one : runs_) {
      if (system_.disk().exists(one.path)) (void)system_.disk().remove(one.path).ok();
    }
    return all;
  }

 private:
  // What runs yet dies with us, and what it has written is not left behind.
  void stop() {
    problem_ = Error{Code::kUnavailable,
                     text("stopped when ", done_, " of ", runs_.size(), " runs were done")};
    system_.finish(0);
  }
  void start_next() {
    if (next_ == runs_.size() || problem_) return;
    CompareRun& one = runs_[next_++];
    // Made by us, so that nobody's file or link of that name is written to.
    const auto file = system_.disk().open(one.path, os::Open::kCreateNew);
    if (!file.ok()) {
      problem_ = file.error();
      return;
    }
    os::Spawn spawn;
    spawn.argv = {machine_.program,
                  "sim",
                  "run",
                  text("--trace=", one.trace),
                  text("--policy=", one.policy),
                  "--json",
                  "--timeline"};
    for (std::string& word : sim_arguments(words_)) spawn.argv.push_back(std::move(word));
    spawn.output_path = one.path;
    spawn.dies_with_parent = true;
    auto child =
        system_.processes().spawn(spawn, [this, &one](os::Exit exit) { ended(one, exit); });
    if (!child.ok()) {
      problem_ = child.error();
      return;
    }
    one.child = std::move(child).value();
    ++going_;
  }
  void ended(CompareRun& one, os::Exit exit) {
    one.exit = exit;
    --going_;
    ++done_;
    draw();
    start_next();
    if (going_ == 0) system_.finish(0);
  }
  void draw() {
    if (!os::terminal_columns()) return;
    const double share = static_cast<double>(done_) / static_cast<double>(runs_.size());
    talk_.add(text("\rcompare: ", bar_text(share, kBarWidth), done_, " of ", runs_.size(),
                   done_ == runs_.size() ? "\n" : ""));
    talk_.flush();
  }
  Result<std::vector<simulator::ReportRun>> collect() {
    if (problem_) return *problem_;
    std::vector<simulator::ReportRun> all;
    for (const CompareRun& one : runs_) {
      EDL_TRY(const Bytes bytes, os::read_file(system_.disk(), one.path, kAnswerBytesMax));
      const std::string_view said = text_of(bytes);
      if (!one.exit || !(*one.exit == os::Exit{})) {
        return Error{Code::kInvalid, text(one.policy, " on ", one.trace, ": ", trim(said))};
      }
      EDL_TRY(simulator::ReportRun run, parse(said));
      run.summary.trace = one.shown;
      all.push_back(std::move(run));
    }
    return all;
  }
  static Result<simulator::ReportRun> parse(std::string_view said) {
    const std::size_t end = said.find('\n');
    if (end == std::string_view::npos) return Error{Code::kCorrupt, "a run said nothing"};
    EDL_TRY(const Json first, parse_json(said.substr(0, end), {.bytes_max = kAnswerBytesMax}));
    EDL_TRY(const Json second, parse_json(said.substr(end + 1), {.bytes_max = kAnswerBytesMax}));
    simulator::ReportRun run;
    EDL_TRY(run.summary, simulator::summary_from(first));
    EDL_TRY(run.outcome, simulator::outcome_from(second));
    return run;
  }

  os::PosixSystem& system_;
  const SimWords& words_;
  Output& talk_;
  os::Machine machine_;
  std::vector<CompareRun> runs_;
  std::size_t next_ = 0;
  std::size_t going_ = 0;
  std::size_t done_ = 0;
  std::optional<Error> problem_;
};

class SimCompare final : public Command {
 public:
  SimCompare(CLI::App& app, Console& console) : console_(console) {
    app.add_option("--trace", traces_, "files with jobs")
        ->required()
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add_policies(app, policies_);
    add_sim_options(app, words_);
    app.add_option("--report", report_, "write a page with plots there")->type_name("FILE");
    app.add_flag("--csv", csv_, "answer as comma-separated values");
    app.add_flag("--jobs", jobs_, "tell of each job too, with --json");
    app.add_flag("--json", json_, "answer with JSON objects, one a line");
  }

  Result<void> run(Output& out) override {
    std::vector<std::string> names;
    for (const std::string_view name : split(policies_, ',')) {
      if (trim(name).empty()) continue;
      EDL_TRY(const scheduler::Policy* policy, scheduler::find_policy(trim(name)));
      names.emplace_back(policy->name);
    }
    if (names.empty()) {
      for (const scheduler::Policy* policy : scheduler::policies())
        names.emplace_back(policy->name);
    }
    const auto sink = silent_log_sink();
    const auto system = os::posix_system({.log_sink = sink.get()});
    Runs runs(*system, words_, console_.talk);
    for (const std::string& trace : traces_) {
      for (const std::string& name : names) runs.add(name, trace, distinct_tail(trace, traces_));
    }
    EDL_TRY(const auto all, runs.run());
    if (!report_.empty()) {
      EDL_TRY(os::replace_file(system->disk(), report_, bytes_of(simulator::html_report(all))));
    }
    answer(all, out);
    return {};
  }

 private:
  void answer(const std::vector<simulator::ReportRun>& all, Output& out) const {
    std::vector<simulator::Summary> summaries;
    for (const auto& run : all) summaries.push_back(run.summary);
    if (!json_) {
      out.add(csv_ ? summary_csv(summaries) : summary_table(summaries));
      return;
    }
    for (const auto& run : all) {
      out.add(json_line(simulator::summary_json(run.summary)) + "\n");
      if (!jobs_) continue;
      for (const auto& job : run.outcome.jobs) {
        out.add(json_line(simulator::job_json(job)) + "\n");
      }
    }
  }

  Console& console_;
  std::vector<std::string> traces_;
  std::string policies_;
  SimWords words_;
  std::string report_;
  bool csv_ = false;
  bool jobs_ = false;
  bool json_ = false;
};

}  // namespace

void add_sim_compare(CommandLine& line, CLI::App& sim, Console& console) {
  line.add<SimCompare>(sim,
                       {"compare", "Run traces under several policies.",
                        "edl sim compare --trace=jobs.csv --policies=ours,tiresias --nodes=16x4 "
                        "--report=report.html"},
                       console);
}

}  // namespace edl::cli
