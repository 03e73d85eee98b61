// `edl resume`: goes on with a job that stopped, or whose `edl run` was killed; and `edl join`:
// lends this machine to a job that runs elsewhere.
#include "edl/cli/ask_program.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_place.h"
#include "edl/cli/run_options.h"

namespace edl::cli {
namespace {

constexpr Duration kHoldLimit = 5s;

class Resume final : public Command {
 public:
  Resume(CLI::App& app, Console& console) : console_(console) {
    common_.add_to(app);
    app.add_option("--store", place_.store,
                   "where its store is now, when it is none of the job's own")
        ->type_name("URL[,URL...]");
    app.add_flag("--any-fingerprint", any_fingerprint_,
                 "go on although numbers have other bits here: not reproducible");
    app.add_option("JOB", place_.job, "the job's name, or its directory")
        ->required()
        ->type_name("");
  }

  Result<void> run(Output& out) override {
    AgentRun runner(console_, common_);
    place_.token_file = common_.token_file;
    JobConnection connection(place_);
    EDL_TRY(const JobPlace place, connection.find());
    if (!place.launch) {
      return Error{Code::kNotFound,
                   text("cannot resume job ", place.name, ": its directory is not ",
                        "here. Go on where it began, or lend workers by edl join")};
    }
    EDL_TRY(const auto start, narrow("--start", common_.start));
    EDL_TRY(agent::Launch launch,
            agent::with_workers(*place.launch, common_.workers, start, runner.machine().cores));
    if (common_.detach && runner.detached_name().empty()) {
      return runner.detach(place.name, place.paths, out);
    }
    EDL_TRY(auto options,
            runner.prepare(agent::AgentMode::kResume, std::move(launch), place.paths));
    EDL_TRY(check_program(runner, place, options));
    EDL_TRY(runner.hold(place.paths, kHoldLimit));
    EDL_TRY(say_entering(runner, place));
    const std::string secret =
        common_.secret_file.empty() ? place.paths.secret() : common_.secret_file;
    EDL_TRY(options.secret, agent::read_secret(runner.system().disk(), secret));
    EDL_TRY(take_store(connection, place, options));
    return runner.run(std::move(options), out);
  }

 private:
  // The store of the run before may still answer; nobody should ask there any more.
  static Result<void> say_entering(AgentRun& runner, const JobPlace& place) {
    if (!place.run) return {};
    agent::RunFile run = *place.run;
    run.entering = true;
    return agent::write_run(runner.system().disk(), place.paths, run);
  }

  // The store of the last run, or the one where the job is now.
  Result<void> take_store(JobConnection& connection, const JobPlace& place,
                          agent::AgentOptions& options) const {
    const bool is_own = place.run && place.run->embedded;
    if (place_.store.empty() && (is_own || !place.run)) return {};
    if (is_own) {
      return Error{Code::kInvalid, text("job ", place.name, " has a store of its own in ",
                                        place.paths.store(), ": leave --store away")};
    }
    if (!place_.store.empty()) {
      // In one that does not know it, the job would begin anew.
      EDL_TRY(connection.look(place));
    }
    options.store = place.urls;
    options.token = place.token;
    if (place.run && options.token_file.empty()) options.token_file = place.run->token_file;
    return {};
  }

  // What is trained from here on is compared with what was trained last.
  Result<void> check_program(AgentRun& runner, const JobPlace& place,
                             agent::AgentOptions& options) const {
    agent::Launch& launch = options.launch;
    if (launch.spec.mode == model::JobMode::kStopResume) return {};
    if (place.run && !place.run->fingerprint.empty()) {
      launch.fingerprint = place.run->fingerprint;
      launch.reproducible = place.run->reproducible;
    }
    EDL_TRY(const agent::ProgramFacts facts, ask_program(runner.system(), options));
    launch.warnings = facts.warnings;
    const std::string difference =
        model::fingerprint_difference(facts.fingerprint, launch.fingerprint);
    if (!difference.empty() && !any_fingerprint_) {
      return Error{Code::kConflict,
                   text("cannot resume job ", place.name, ": ", difference, "; or go on with ",
                        "--any-fingerprint, and the job is not reproducible any more")};
    }
    launch.fingerprint = facts.fingerprint;
    if (!difference.empty()) launch.reproducible = false;
    return runner.check_memory(facts, launch.wanted, launch);
  }

  Console& console_;
  RunOptions common_;
  JobOptions place_;
  bool any_fingerprint_ = false;
};

class Join final : public Command {
 public:
  Join(CLI::App& app, Console& console) : console_(console) {
    app.add_option("--store", place_.store, "the store of the job")
        ->required()
        ->type_name("URL[,URL...]");
    app.add_option("--job", place_.job, "the job's name")->required()->type_name("NAME");
    add_number(app, "--workers", workers_,
               "how many workers to lend; as many as cores when not given");
    app.add_option("--secret-file", common_.secret_file,
                   "the job's secret; the one in --dir or edl-jobs/NAME when not given")
        ->type_name("FILE");
    app.add_option("--token-file", common_.token_file, "what the store wants to be shown")
        ->type_name("FILE");
    app.add_option("--address", common_.address,
                   "host of ours that the other workers can reach; 127.0.0.1 when not given")
        ->type_name("HOST");
    app.add_option("--dir", dir_, "for logs; edl-jobs/NAME when not given")->type_name("DIR");
    add_duration(app, "--grace", common_.grace,
                 "how long workers may take to end; 30s when not given");
    add_cache_options(app, common_.cache);
    app.add_flag("--json", common_.json, "tell events as JSON, one object a line");
    app.add_option("PROGRAM", program_, "what the job trains, and its arguments")
        ->required()
        ->type_name("")
        ->expected(1, -1);
  }

  Result<void> run(Output& out) override {
    EDL_TRY(model::validate_name("job", place_.job));
    place_.token_file = common_.token_file;
    AgentRun runner(console_, common_);
    JobConnection connection(place_);
    EDL_TRY(const JobPlace place, connection.at_store());
    const std::string usual = absolute(runner.machine(), "edl-jobs/" + place.name);
    const agent::JobPaths paths{dir_.empty() ? usual : absolute(runner.machine(), dir_)};
    EDL_TRY(std::string secret,
            find_secret(runner.system().disk(), {paths.secret(), usual + "/secret"}));
    EDL_TRY(agent::Launch launch, read_launch(connection, place));
    EDL_TRY(auto options, runner.prepare(agent::AgentMode::kJoin, std::move(launch), paths));
    EDL_TRY(const auto workers, narrow("--workers", workers_));
    options.join_workers = workers.value_or(runner.machine().cores);
    EDL_TRY(check_program(runner, options));
    EDL_TRY(runner.system().disk().make_directory(paths.logs()));
    options.secret = std::move(secret);
    options.store = place.urls;
    return runner.run(std::move(options), out);
  }

 private:
  // Where `edl run` left it, when the job began in this folder.
  Result<std::string> find_secret(os::Disk& disk, const std::vector<std::string>& places) const {
    if (!common_.secret_file.empty()) return agent::read_secret(disk, common_.secret_file);
    for (const std::string& path : places) {
      if (disk.exists(path)) return agent::read_secret(disk, path);
    }
    return Error{Code::kNotFound,
                 text("cannot join job ", place_.job, ": its secret is not in ", places.back(),
                      ". Copy it from the job's directory and name it by --secret-file")};
  }

  // The job as its store has it, with the program as it is found here.
  Result<agent::Launch> read_launch(JobConnection& connection, const JobPlace& place) const {
    EDL_TRY(const agent::JobPicture picture, connection.look(place));
    agent::Launch launch;
    EDL_TRY(launch.spec, model::job_from(picture.spec));
    launch.logical_workers = model::logical_workers(launch.spec);
    EDL_TRY(const model::FittedWorkers workers, model::worker_range(launch.spec));
    launch.range = workers.range;
    JsonReader in(picture.spec, "spec");
    model::read_samples(in, launch.samples);
    EDL_TRY(launch.fingerprint,
            model::fingerprint_from(picture.spec.value("fingerprint", Json(""))));
    launch.spec.program = program_.front();
    launch.spec.args.assign(program_.begin() + 1, program_.end());
    return launch;
  }

  // The program fetches its data here, before anyone counts on this machine.
  static Result<void> check_program(AgentRun& runner, agent::AgentOptions& options) {
    const model::JobSpec& spec = options.launch.spec;
    if (spec.mode == model::JobMode::kStopResume) return {};  // nobody can ask a plain command
    EDL_TRY(const agent::ProgramFacts facts, ask_program(runner.system(), options));
    if (facts.samples != options.launch.samples) {
      return Error{Code::kInvalid,
                   text("cannot join job ", spec.name, ": ", spec.program, " has ",
                        model::samples_text(facts.samples), " on this machine, but ",
                        model::samples_text(options.launch.samples), " in the job. ",
                        "Give it the same data")};
    }
    const std::string difference =
        model::fingerprint_difference(facts.fingerprint, options.launch.fingerprint);
    if (!difference.empty()) {
      return Error{Code::kConflict, text("cannot join job ", spec.name, ": ", difference)};
    }
    options.launch.warnings = facts.warnings;
    return runner.check_memory(facts, options.join_workers, options.launch);
  }

  Console& console_;
  RunOptions common_;
  JobOptions place_;
  std::optional<std::uint64_t> workers_;
  std::string dir_;
  std::vector<std::string> program_;
};

}  // namespace

void add_resume(CommandLine& line, Console& console) {
  line.add<Resume>(line.root(),
                   {"resume", "Go on with a job that does not run any more.",
                    "edl resume mlp-1\n"
                    "  edl resume mlp-1 --workers=2:4"},
                   console);
  CLI::App& join =
      line.add<Join>(line.root(),
                     {"join", "Lend this machine's workers to a job that runs elsewhere.",
                      "edl join --store=http://10.0.0.1:2379 --job=mlp-1 --secret-file=secret "
                      "--address=10.0.0.2 builtin:mlp\n"
                      "  edl join --store=http://127.0.0.1:2379 --job=mlp-1 builtin:mlp"},
                     console);
  line.takes_program(join);
}

}  // namespace edl::cli
