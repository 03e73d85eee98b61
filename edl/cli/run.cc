// `edl run`: trains a program, with as many workers as are wanted and can be had.
#include "edl/agent/program.h"
#include "edl/cli/ask_program.h"
#include "edl/cli/commands.h"
#include "edl/cli/run_options.h"
#include "edl/train/builtin/programs.h"

namespace edl::cli {
namespace {

constexpr Duration kDescribeLimit = 2min;

class Run final : public Command {
 public:
  Run(CLI::App& app, Console& console) : console_(console) {
    common_.add_to(app);
    app.add_option("--name", name_, "the job's name; the program's and a number when not given")
        ->type_name("NAME");
    app.add_option("--dir", dir_, "the job's directory; edl-jobs/NAME when not given")
        ->type_name("DIR");
    app.add_option("--store", store_, "a store that is there already; else one of the job's own")
        ->type_name("URL[,URL...]");
    add_number(app, "--logical-workers", logical_workers_,
               "parts of a step; belongs to the job and to its result");
    add_number(app, "--seed", request_.seed, "of all that is random");
    add_number(app, "--epochs", request_.epochs, "how often to train all samples");
    add_number(app, "--steps", request_.steps, "how many steps to train");
    add_number(app, "--batch", request_.batch, "samples of a step, or of a member in it");
    add_number(app, "--batch-max", request_.batch_max, "the largest batch: capped, adaptive");
    add_word<std::optional<model::BatchPolicy>>(
        app, "--batch-policy", request_.batch_policy,
        "what the batch does when members come and go; the program's, or fixed, when not given",
        {{"fixed", model::BatchPolicy::kFixed},
         {"linear", model::BatchPolicy::kLinear},
         {"capped", model::BatchPolicy::kCapped},
         {"adaptive", model::BatchPolicy::kAdaptive}});
    add_word<std::optional<model::RateRule>>(
        app, "--lr-rule", request_.lr_rule,
        "how the learning rate follows the batch; the program's, or none, when not given",
        {{"none", model::RateRule::kNone},
         {"linear", model::RateRule::kLinear},
         {"sqrt", model::RateRule::kSquareRoot},
         {"piecewise", model::RateRule::kPiecewise},
         {"lars", model::RateRule::kLars}});
    add_number(app, "--warmup-samples", request_.warmup_samples,
               "during which the learning rate grows from nearly 0");
    app.add_option("--checkpoint-every", request_.checkpoint,
                   "auto, off, 100steps or 30s; auto when not given")
        ->type_name("WHEN");
    add_number(app, "--silent-steps", silent_steps_,
               "who is silent for so many steps is left out; 8 when not given");
    add_word<std::string>(app, "--mode", mode_, "elastic when not given",
                          {{"elastic", "elastic"}, {"stop-resume", "stop-resume"}});
    app.add_option("--python", python_, "the interpreter for programs in Python")
        ->type_name("PATH");
    app.add_option("PROGRAM", program_, "what to train, and its own options and arguments")
        ->required()
        ->type_name("")
        ->expected(1, -1);
  }

  Result<void> run(Output& out) override {
    EDL_TRY(check_available());
    AgentRun runner(console_, common_);
    EDL_TRY(agent::Launch launch, plan(runner));
    const agent::JobPaths paths{absolute(runner.machine(), directory(launch.spec.name))};
    EDL_TRY(check_new(runner.system().disk(), paths));
    if (!launch.note.empty()) say(launch.note);
    if (common_.detach && runner.detached_name().empty()) {
      return runner.detach(launch.spec.name, paths, out);
    }
    EDL_TRY(auto options, runner.prepare(agent::AgentMode::kRun, std::move(launch), paths));
    EDL_TRY(make_directory(runner, options));
    return runner.run(std::move(options), out);
  }

 private:
  Result<void> check_available() const {
    if (mode_ == "stop-resume") {
      return Error{Code::kInvalid, "--mode=stop-resume is not available yet"};
    }
    if (!python_.empty()) return Error{Code::kInvalid, "--python is not available yet"};
    return {};
  }

  Result<agent::Launch> plan(AgentRun& runner) {
    agent::LaunchRequest request = request_;
    request.program = program_.front();
    request.args.assign(program_.begin() + 1, program_.end());
    request.workers = common_.workers;
    EDL_TRY(request.start, narrow("--start", common_.start));
    EDL_TRY(request.logical_workers, narrow("--logical-workers", logical_workers_));
    EDL_TRY(request.silent_steps, narrow("--silent-steps", silent_steps_));
    request.name = job_name(runner);
    EDL_TRY(model::validate_name("job", request.name));
    EDL_TRY(const auto command,
            agent::worker_command(runner.system().disk(), runner.machine().program, request.program,
                                  request.args));
    EDL_TRY(const agent::ProgramFacts facts, facts_of(runner, request, command));
    return agent::plan_launch(request, facts, runner.machine().cores);
  }

  static Result<agent::ProgramFacts> facts_of(AgentRun& runner, const agent::LaunchRequest& request,
                                              const std::vector<std::string>& command) {
    if (!request.program.starts_with("builtin:")) {
      return ask_program(runner.system(), command, kDescribeLimit);
    }
    EDL_TRY(const train::WorkerProgram ours, train::builtin_program(request.program, request.args));
    return agent::program_facts_from(ours.facts);
  }

  std::string job_name(AgentRun& runner) const {
    if (!runner.detached_name().empty()) return runner.detached_name();
    if (!name_.empty()) return name_;
    return agent::free_name(program_.front(), [&](const std::string& name) {
      return runner.system().disk().exists(directory(name));
    });
  }

  std::string directory(const std::string& name) const {
    return dir_.empty() ? "edl-jobs/" + name : dir_;
  }

  static Result<void> check_new(os::Disk& disk, const agent::JobPaths& paths) {
    if (!disk.exists(paths.job())) return {};
    return Error{Code::kConflict,
                 text("there is a job in ", paths.dir, " already: go on with it by edl resume ",
                      paths.dir, ", or choose another --name or --dir")};
  }

  // From here on the job exists.
  Result<void> make_directory(AgentRun& runner, agent::AgentOptions& options) const {
    os::Disk& disk = runner.system().disk();
    const agent::JobPaths& paths = options.paths;
    EDL_TRY(disk.make_directory(paths.logs()));
    EDL_TRY(runner.hold(paths, Duration::zero()));
    EDL_TRY(check_new(disk, paths));
    if (!store_.empty()) {
      for (const std::string_view url : split(store_, ',')) options.store.emplace_back(url);
    }
    if (common_.secret_file.empty()) {
      EDL_TRY(options.secret, agent::make_secret(runner.system(), paths.secret()));
    } else {
      EDL_TRY(options.secret, agent::read_secret(disk, common_.secret_file));
    }
    return agent::write_job(disk, paths, options.launch);
  }

  void say(const std::string& sentence) {
    console_.talk.add(sentence + "\n");
    console_.talk.flush();
  }

  Console& console_;
  RunOptions common_;
  agent::LaunchRequest request_;
  std::optional<std::uint64_t> logical_workers_;
  std::optional<std::uint64_t> silent_steps_;
  std::string name_;
  std::string dir_;
  std::string store_;
  std::string mode_ = "elastic";
  std::string python_;
  std::vector<std::string> program_;
};

}  // namespace

void add_run(CommandLine& line, Console& console) {
  CLI::App& app = line.add<Run>(line.root(),
                                {"run", "Train a program with workers that may come and go.",
                                 "edl run --workers=1:4 --epochs=3 builtin:mlp\n"
                                 "  edl run --workers=2 --fault=compute@20/w2=kill builtin:mlp"},
                                console);
  line.takes_program(app);
}

}  // namespace edl::cli
