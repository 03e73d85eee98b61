#include "edl/cli/run_options.h"

#include <algorithm>
#include <limits>

#include "edl/agent/memory_limit.h"
#include "edl/agent/program.h"
#include "edl/agent/stop_resume_agent.h"
#include "edl/cli/agent_face.h"
#include "edl/cli/ask_program.h"
#include "edl/cli/store_commands.h"
#include "edl/data/cache.h"
#include "edl/data/cache_folder.h"
#include "edl/train/parent_frame.h"

namespace edl::cli {
namespace {

constexpr std::string_view kDetached = "detached ";
constexpr Duration kDetachLimit = 2min;
constexpr Duration kDrainLimit = 100ms;

std::string fault_problem(const std::string& word) {
  const auto fault = model::parse_fault(word);
  return fault.ok() ? "" : fault.error().message;
}

std::string workers_problem(const std::string& word) {
  const auto workers = model::parse_workers(word);
  return workers.ok() ? "" : workers.error().message;
}

}  // namespace

void RunOptions::add_to(CLI::App& app) {
  const auto keep_workers = [this](const CLI::results_t& values) {
    workers = model::parse_workers(values.at(0)).value();
    return true;
  };
  app.add_option("--workers", keep_workers, "N workers, or MIN:MAX: never below, never above")
      ->type_name("N|MIN:MAX")
      ->check(CLI::Validator(workers_problem, ""));
  add_number(app, "--start", start, "how many to begin with; as many as cores when not given");
  app.add_option("--fault", faults, "PHASE@STEP[/WORKER]=ACTION, for drills; may be repeated")
      ->type_name("SPEC")
      ->expected(1)
      ->allow_extra_args(false)  // would take the mark before the program, too
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(fault_problem, ""));
  add_word<std::string>(app, "--events", events, "all: tell every step", {{"all", "all"}});
  app.add_option("--trace-samples", trace_samples, "file that gets a line for each part trained")
      ->type_name("FILE");
  add_duration(app, "--grace", grace, "how long workers may take to end; 30s when not given");
  app.add_option("--secret-file", secret_file, "the job's secret; made when not given")
      ->type_name("FILE");
  app.add_option("--token-file", token_file, "what the store wants to be shown")->type_name("FILE");
  app.add_option("--address", address, "host that workers listen on; 127.0.0.1 when not given")
      ->type_name("HOST");
  add_cache_options(app, cache);
  app.add_flag("--detach", detach, "go on in the background");
  app.add_flag("--json", json, "tell events as JSON, one object a line");
}

Result<std::optional<std::uint32_t>> narrow(const std::string& option,
                                            std::optional<std::uint64_t> number) {
  if (!number) return std::optional<std::uint32_t>();
  if (*number <= std::numeric_limits<std::uint32_t>::max()) {
    return std::optional<std::uint32_t>(static_cast<std::uint32_t>(*number));
  }
  return Error{Code::kInvalid, text(option, "=", *number, " is too large a number")};
}

Error not_driven(const std::string& option) {
  return {Code::kInvalid,
          text(option, " is for programs that EDL drives: in mode stop-resume ",
               "the command itself trains, and nobody sees its steps. Leave it out")};
}

std::string absolute(const os::Machine& machine, const std::string& path) {
  return path.starts_with('/') ? path : machine.directory + "/" + path;
}

AgentRun::AgentRun(Console& console, const RunOptions& options)
    : console_(console),
      options_(options),
      machine_(os::this_machine()),
      sink_(stderr_log_sink(Level::kError)),
      system_(os::posix_system(
          {.log_sink = sink_.get(),
           .name = "agent",
           .parent_descriptor = detached_name().empty() ? -1 : console.parent_descriptor,
           .adopts_orphans = true})) {}

Result<agent::Environment> AgentRun::program_environment(const std::string& program,
                                                         model::JobMode mode, model::Isa isa,
                                                         std::optional<std::uint64_t> seed) const {
  agent::Environment out;
  if (mode == model::JobMode::kElastic) {
    EDL_TRY(out, agent::numeric_environment(isa, os::cpu_features(), console_.blas_core));
    if (!agent::is_builtin(program) && !console_.tunes_memory) {
      const agent::Environment memory = agent::memory_environment();
      out.insert(out.end(), memory.begin(), memory.end());
    }
    // What a worker prints is in its log at once, and also when it is killed.
    if (agent::is_python(program)) out.emplace_back("PYTHONUNBUFFERED", "1");
    out.emplace_back(train::kSeedVariable, seed ? std::to_string(*seed) : "");
  }
  const CacheWords& words = options_.cache;
  if (!words.folder.empty()) {
    out.emplace_back(data::kCacheVariable, absolute(machine_, words.folder));
  }
  if (!words.bytes_max.empty()) out.emplace_back(data::kCacheMaxVariable, words.bytes_max);
  if (!words.s3_access.empty()) {
    out.emplace_back(data::kS3AccessVariable, absolute(machine_, words.s3_access));
  }
  return out;
}

Result<void> AgentRun::check_memory(const agent::ProgramFacts& program, std::uint32_t workers,
                                    agent::Launch& launch) {
  std::uint64_t available = agent::available_memory(system_->disk());
  if (!console_.memory.empty()) {
    EDL_TRY(const std::uint64_t said, data::parse_size(console_.memory));
    available = std::min(available, said);
  }
  return agent::take_memory(program, workers, available, launch);
}

Result<std::vector<std::string>> AgentRun::command_of(const model::JobSpec& spec) {
  os::Disk& disk = system_->disk();
  if (spec.mode == model::JobMode::kElastic) {
    return agent::worker_command(disk, runners_of(machine_, console_, spec.python), spec.program,
                                 spec.args);
  }
  if (!options_.faults.empty()) return not_driven("--fault");
  if (!options_.events.empty()) return not_driven("--events");
  if (!options_.trace_samples.empty()) return not_driven("--trace-samples");
  EDL_TRY(auto command, agent::plain_command(disk, console_.search_path, spec.program, spec.args));
  if (agent::is_python(spec.program)) {
    command.insert(command.begin(), runners_of(machine_, console_, spec.python).python);
  }
  return command;
}

Result<agent::AgentOptions> AgentRun::prepare(agent::AgentMode mode, agent::Launch launch,
                                              agent::JobPaths paths) {
  agent::AgentOptions agent;
  agent.mode = mode;
  agent.host = machine_.host;
  agent.pid = machine_.pid;
  agent.edl = machine_.program;
  EDL_TRY(agent.argv, command_of(launch.spec));
  EDL_TRY(agent.environment, program_environment(launch.spec.program, launch.spec.mode,
                                                 launch.spec.isa, launch.spec.seed));
  EDL_TRY(check_address());
  agent.address = options_.address;
  for (const std::string& fault : options_.faults) {
    EDL_TRY(agent.faults.emplace_back(), model::parse_fault(fault));
  }
  if (agent.faults.size() > model::kFaultsMax) {
    return Error{Code::kInvalid,
                 text(agent.faults.size(), " faults are given; the limit is ", model::kFaultsMax)};
  }
  if (!options_.trace_samples.empty()) {
    agent.trace_samples = absolute(machine_, options_.trace_samples);
    EDL_TRY(check_trace(agent.trace_samples));
  }
  if (!options_.token_file.empty()) {
    EDL_TRY(agent.token, read_token(system_->disk(), options_.token_file));
    agent.token_file = absolute(machine_, options_.token_file);
  }
  agent.all_events = options_.events == "all";
  agent.grace = options_.grace;
  agent.launch = std::move(launch);
  agent.paths = std::move(paths);
  return agent;
}

// What workers would fail at, one after the other.
Result<void> AgentRun::check_address() {
  const auto listener = system_->network().listen({.host = options_.address, .port = 0, .path = ""},
                                                  [](std::unique_ptr<os::Stream>) {});
  if (listener.ok()) return {};
  return Error{Code::kInvalid,
               text("no worker here could listen at --address=", options_.address, ": ",
                    listener.error().message, ". Give an address of this machine")};
}

Result<void> AgentRun::check_trace(const std::string& path) {
  os::Disk& disk = system_->disk();
  const bool existed = disk.exists(path);
  const auto file = disk.open(path, os::Open::kAppend);
  if (file.ok()) return existed ? Result<void>() : disk.remove(path);
  return Error{Code::kInvalid,
               text("the trace of --trace-samples cannot be written: ", file.error().message)};
}

Result<void> AgentRun::hold(const agent::JobPaths& paths, Duration limit) {
  constexpr Duration kLookEvery = 100ms;
  const Time deadline = system_->now() + limit;
  while (true) {
    auto lock = system_->disk().lock(paths.lock());
    if (lock.ok()) {
      lock_ = std::move(lock).value();
      return {};
    }
    if (lock.error().code != Code::kConflict || system_->now() >= deadline) {
      return Error{lock.error().code,
                   text("the job in ", paths.dir, " runs already: see edl status ", paths.dir)};
    }
    const os::Pending wait = system_->after(kLookEvery, [&] { system_->finish(0); });
    system_->run();
  }
}

Result<void> AgentRun::run(agent::AgentOptions options, Output& out) {
  if (options.launch.spec.mode == model::JobMode::kStopResume) {
    return play<agent::StopResumeAgent>(std::move(options), out);
  }
  return play<agent::Agent>(std::move(options), out);
}

template <class AnyAgent>
Result<void> AgentRun::play(agent::AgentOptions options, Output& out) {
  ConsoleFace face(*system_, out, console_.talk,
                   {.json = options_.json,
                    .steps = options.launch.steps,
                    .columns = os::terminal_columns(),
                    .on_started = [this] { on_begun(); }});
  AnyAgent agent(*system_, std::move(options), face);
  const int code = system_->run();
  face.close();
  if (code == 0) return {};
  return Error{Code::kUnavailable, agent.failure()};
}

// Who started us in the background waits for it.
void AgentRun::on_begun() {
  has_begun_ = true;
  os::Stream* parent = system_->processes().parent();
  if (parent == nullptr) return;
  static constexpr std::string_view kBegun = "begun\n";
  const ConstBytes piece = bytes_of(kBegun);
  parent->write(std::span(&piece, 1), [](const Result<void>&) {});
}

std::string AgentRun::detached_name() const {
  if (!console_.role.starts_with(kDetached)) return "";
  return console_.role.substr(kDetached.size());
}

Result<void> AgentRun::detach(const std::string& name, const agent::JobPaths& paths, Output& out) {
  EDL_TRY(system_->disk().make_directory(paths.logs()));
  os::Spawn spawn;
  spawn.argv = console_.arguments;
  spawn.argv.insert(spawn.argv.begin(), machine_.program);
  spawn.environment = {{train::kRoleVariable, text(kDetached, name)}};
  spawn.output_path = paths.log("agent");
  spawn.own_session = true;
  bool ended = false;
  os::Pending drain;  // its word may still be on the way
  EDL_TRY(const auto child, system_->processes().spawn(spawn, [&](os::Exit) {
    ended = true;
    drain = system_->after(kDrainLimit, [&] { system_->finish(0); });
  }));
  Bytes word(16);
  bool begun = false;
  child->stream().read(word, [&](const Result<std::size_t>& got) {
    begun = got.ok() && *got > 0;
    if (begun) system_->finish(0);
  });
  const os::Pending alarm = system_->after(kDetachLimit, [&] { system_->finish(0); });
  system_->run();
  if (!begun && !ended) {
    return Error{Code::kTimeout, text("the job did not begin within ", kDetachLimit / 1min,
                                      " minutes; see ", paths.log("agent"))};
  }
  if (!begun) {
    const auto lines = agent::last_lines(system_->disk(), paths.log("agent"), 1);
    return Error{Code::kUnavailable, lines.empty()
                                         ? text("the job did not begin; see ", paths.log("agent"))
                                         : lines[0]};
  }
  const Json answer{{"job", name}, {"dir", paths.dir}, {"pid", child->pid()}};
  out.add(options_.json ? json_line(answer) + "\n"
                        : text("Job ", name, " runs in the background: edl status ", name, "\n"));
  return {};
}

}  // namespace edl::cli
