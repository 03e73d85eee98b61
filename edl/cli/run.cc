// `edl run`: trains a program, with as many workers as are wanted and can be had.
#include "edl/agent/program.h"
#include "edl/checkpoint/weights.h"
#include "edl/cli/ask_program.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_place.h"
#include "edl/cli/new_directory.h"
#include "edl/cli/run_options.h"

namespace edl::cli {
namespace {

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
    add_batch(app);
    app.add_option("--checkpoint-every", request_.checkpoint,
                   "auto, off, 100steps or 30s; auto when not given")
        ->type_name("WHEN");
    add_number(app, "--silent-steps", silent_steps_,
               "who is silent for so many steps is left out; 8 when not given");
    app.add_option("--part-limit", request_.part_limit,
                   "how long a part may take before the program is taken to hang: auto, off or "
                   "30m; auto when not given")
        ->type_name("TIME");
    add_word<model::JobMode>(
        app, "--mode", mode_,
        "stop-resume: any command, which is stopped and started again on "
        "every change; elastic when not given",
        {{"elastic", model::JobMode::kElastic}, {"stop-resume", model::JobMode::kStopResume}});
    add_beginning(app);
    add_word<model::Isa>(
        app, "--isa", request_.isa,
        "avx2: the same bits on every x86 machine that has it; native when not given",
        {{"native", model::Isa::kNative}, {"avx2", model::Isa::kAvx2}});
    app.add_option("--python", request_.python,
                   "the interpreter for programs in Python; else $EDL_PYTHON, that of the virtual "
                   "environment, /usr/bin/python3")
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
      return detach(runner, launch.spec.name, paths, out);
    }
    EDL_TRY(auto options, runner.prepare(agent::AgentMode::kRun, std::move(launch), paths));
    NewDirectory directory(runner.system().disk(), paths.dir);
    EDL_TRY(runner.system().disk().make_directory(paths.logs()));
    EDL_TRY(runner.hold(paths, Duration::zero()));
    EDL_TRY(check_new(runner.system().disk(), paths));
    auto ended = begin(runner, std::move(options), out);
    if (!ended.ok() && !runner.has_begun()) directory.clear();
    return ended;
  }

 private:
  void add_beginning(CLI::App& app) {
    app.add_option("--init", init_, "a safetensors file of weights to begin with")
        ->type_name("FILE");
    app.add_option("--from", from_, "a job's directory, or a checkpoint in it, to go on from")
        ->type_name("PATH");
  }

  // The batch and the learning rate.
  void add_batch(CLI::App& app) {
    add_number(app, "--batch", request_.batch, "samples of a step, or of a member in it");
    add_number(app, "--batch-max", request_.batch_max, "the largest batch: capped, adaptive");
    add_number(app, "--micro-batch", request_.micro_batch,
               "samples that forward sees at a time; a part is one when not given");
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
  }

  Result<void> check_available() const {
    if (mode_ == model::JobMode::kStopResume) {
      EDL_TRY(check_plain());
    }
    if (!request_.python.empty() && !agent::is_python(program_.front())) {
      return Error{Code::kInvalid, text("--python is for programs that are a file in Python; ",
                                        program_.front(), " is none")};
    }
    return {};
  }

  // What only a program that EDL drives can be told.
  Result<void> check_plain() const {
    const std::initializer_list<std::pair<const char*, bool>> typed{
        {"--logical-workers", logical_workers_.has_value()},
        {"--seed", request_.seed.has_value()},
        {"--epochs", request_.epochs.has_value()},
        {"--steps", request_.steps.has_value()},
        {"--batch", request_.batch.has_value()},
        {"--batch-max", request_.batch_max.has_value()},
        {"--micro-batch", request_.micro_batch.has_value()},
        {"--batch-policy", request_.batch_policy.has_value()},
        {"--lr-rule", request_.lr_rule.has_value()},
        {"--warmup-samples", request_.warmup_samples.has_value()},
        {"--checkpoint-every", request_.checkpoint.has_value()},
        {"--silent-steps", silent_steps_.has_value()},
        {"--part-limit", request_.part_limit != "auto"},
        {"--init", !init_.empty()},
        {"--from", !from_.empty()},
        {"--isa", request_.isa != model::Isa::kNative}};
    for (const auto& [option, is_given] : typed) {
      if (is_given) return not_driven(option);
    }
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
    EDL_TRY(request.name, job_name(runner));
    EDL_TRY(model::validate_name("job", request.name));
    if (mode_ == model::JobMode::kStopResume) {
      EDL_TRY(agent::Launch launch, agent::plan_stop_resume(request, runner.machine().cores));
      EDL_TRY(runner.command_of(launch.spec));
      return launch;
    }
    EDL_TRY(const auto command,
            agent::worker_command(runner.system().disk(),
                                  runners_of(runner.machine(), console_, request.python),
                                  request.program, request.args));
    EDL_TRY(take_beginning(runner, request));
    EDL_TRY(const agent::Environment environment,
            runner.program_environment(request.program, mode_, request.isa, request.seed));
    EDL_TRY(const agent::ProgramFacts facts,
            ask_program(runner.system(), {request.program, request.args, command, environment}));
    if (!facts.from.empty() && init_.empty() && from_.empty()) {
      agent::take_words(facts, request);
      EDL_TRY(go_on_from(runner, facts.from, request));
    }
    EDL_TRY(agent::Launch launch, agent::plan_launch(request, facts, runner.machine().cores));
    EDL_TRY(runner.check_memory(facts, launch.wanted, launch));
    if (source_) EDL_TRY(agent::check_source(*source_, launch));
    if (request.init || source_) {
      EDL_TRY(ask_beginning(runner.system(), {.launch = launch,
                                              .checkpoint = source_ ? source_->checkpoint.path : "",
                                              .command = command,
                                              .environment = environment}));
    }
    return launch;
  }

  // What the job begins with, if not with what its program makes.
  Result<void> take_beginning(AgentRun& runner, agent::LaunchRequest& request) {
    os::Disk& disk = runner.system().disk();
    if (!init_.empty() && !from_.empty()) {
      return Error{Code::kInvalid,
                   "--init begins with weights and --from with a whole state: write one of them"};
    }
    if (!init_.empty()) {
      model::WeightsFile& file = request.init.emplace();
      file.path = absolute(runner.machine(), init_);
      EDL_TRY(file.sha256, checkpoint::hash_weights(disk, file.path));
    }
    return from_.empty() ? Result<void>() : go_on_from(runner, from_, request);
  }

  Result<void> go_on_from(AgentRun& runner, const std::string& path,
                          agent::LaunchRequest& request) {
    EDL_TRY(source_, agent::find_source(runner.system().disk(), absolute(runner.machine(), path)));
    return agent::take_over(*source_, request);
  }

  // The first number that is free here and in the store, if that answers: to begin, the job waits
  // for it and finds out.
  Result<std::string> job_name(AgentRun& runner) const {
    if (!runner.detached_name().empty()) return runner.detached_name();
    if (!name_.empty()) return name_;
    Result<void> looked;
    std::string name = agent::free_name(program_.front(), [&](const std::string& candidate) {
      if (dir_.empty() && runner.system().disk().exists(directory(candidate))) return true;
      auto known = is_in_store(candidate);
      if (known.ok()) return *known;
      looked = known.error();
      return false;
    });
    EDL_TRY(std::move(looked));
    return name;
  }

  Result<bool> is_in_store(const std::string& name) const {
    if (store_.empty()) return false;
    const JobOptions there{.job = name, .store = store_, .token_file = common_.token_file};
    JobConnection connection(there);
    EDL_TRY(const JobPlace place, connection.at_store());
    auto picture = connection.look(place);
    if (picture.ok()) return true;
    const Code code = picture.error().code;
    if (code == Code::kNotFound || code == Code::kUnavailable || code == Code::kTimeout) {
      return false;
    }
    return picture.error();
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

  // The one in the background takes away what it has made itself; its log is left to us.
  static Result<void> detach(AgentRun& runner, const std::string& name,
                             const agent::JobPaths& paths, Output& out) {
    os::Disk& disk = runner.system().disk();
    NewDirectory directory(disk, paths.dir);
    auto begun = runner.detach(name, paths, out);
    if (begun.ok() || begun.error().code == Code::kTimeout) return begun;
    const auto lock = disk.lock(paths.lock());
    if (lock.ok() && !disk.exists(paths.job())) directory.clear();
    return begun;
  }

  Result<void> begin(AgentRun& runner, agent::AgentOptions options, Output& out) const {
    os::Disk& disk = runner.system().disk();
    const agent::JobPaths& paths = options.paths;
    if (!store_.empty()) {
      for (const std::string_view url : split(store_, ',')) options.store.emplace_back(url);
    }
    if (common_.secret_file.empty()) {
      EDL_TRY(options.secret, agent::make_secret(runner.system(), paths.secret()));
    } else {
      EDL_TRY(options.secret, agent::read_secret(disk, common_.secret_file));
    }
    if (source_) {
      EDL_TRY(options.inherited, agent::inherit(disk, *source_, paths));
    }
    EDL_TRY(agent::write_job(disk, paths, options.launch));
    return runner.run(std::move(options), out);
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
  model::JobMode mode_ = model::JobMode::kElastic;
  std::string init_;
  std::string from_;
  std::optional<agent::Source> source_;
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
