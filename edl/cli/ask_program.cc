#include "edl/cli/ask_program.h"

#include "edl/agent/worker_process.h"
#include "edl/train/builtin/programs.h"
#include "edl/train/replay.h"

namespace edl::cli {
namespace {

constexpr Duration kDescribeLimit = 2h;  // longer than a program takes to fetch its data

}  // namespace

agent::Runners runners_of(const os::Machine& machine, const Console& console,
                          const std::string& python) {
  return {machine.program, python.empty() ? console.python : python};
}

Result<os::Exit> talk_with_program(os::PosixSystem& system, const ProgramTalk& talk,
                                   const OnProgramFrame& on_frame) {
  std::optional<os::Exit> end;
  agent::WorkerProcess process(
      system, {.id = talk.role, .job = "", .log = ""},
      {[&](const std::string&, train::ParentFrame type, const Json& body) { on_frame(type, body); },
       [&](const std::string&, os::Exit exit) {
         end = exit;
         system.finish(0);
       }});
  os::Spawn spawn;
  spawn.argv = talk.command;
  spawn.environment = talk.environment;
  spawn.environment.emplace_back(train::kRoleVariable, talk.role);
  spawn.dies_with_parent = true;
  auto child = system.processes().spawn(spawn, [&](os::Exit exit) { process.exited(exit); });
  if (!child.ok()) return child.error();
  process.attach(std::move(child).value());
  if (talk.request) process.send(talk.request->first, talk.request->second);
  os::Pending alarm;
  if (talk.limit) {
    alarm = system.after(*talk.limit, [&] {
      process.signal(os::Signal::kKill);
      system.finish(0);
    });
  }
  system.run();
  if (end) return *end;
  return Error{Code::kTimeout, text(talk.command.front(), " did not answer within ", *talk.limit)};
}

Result<agent::ProgramFacts> ask_program(os::PosixSystem& system, const ProgramQuestion& question) {
  if (question.program.starts_with("builtin:")) {
    EDL_TRY(const auto ours, train::builtin_program(question.program, question.args));
    return agent::program_facts_from(ours.facts);
  }
  const std::vector<std::string>& command = question.command;
  std::optional<Result<agent::ProgramFacts>> facts;
  const auto ended = talk_with_program(system,
                                       {.command = command,
                                        .role = train::kRoleDescribe,
                                        .environment = question.environment,
                                        .limit = kDescribeLimit},
                                       [&](train::ParentFrame type, const Json& body) {
                                         if (type == train::ParentFrame::kProgram) {
                                           facts = agent::program_facts_from(body);
                                         }
                                       });
  if (facts && facts->ok()) return *facts;
  if (!ended.ok()) return ended.error();
  if (*ended != os::Exit{}) {
    return Error{Code::kUnavailable,
                 text(question.program, " cannot tell about itself: ", os::exit_text(*ended))};
  }
  if (facts) return *facts;
  return Error{Code::kUnavailable,
               text(question.program, " ended without a word about itself: is it ",
                    "a program built on EDL?")};
}

Result<void> ask_beginning(os::PosixSystem& system, const BeginningQuestion& question) {
  const Json request =
      train::replay_json(Json(question.launch.spec), question.launch.logical_workers,
                         {.checkpoint = question.checkpoint});
  std::optional<Error> problem;
  EDL_TRY(const os::Exit exit,
          talk_with_program(system,
                            {.command = question.command,
                             .role = train::kRoleReplay,
                             .environment = question.environment,
                             .request = {{train::ParentFrame::kReplay, request}},
                             .limit = kDescribeLimit},
                            [&](train::ParentFrame type, const Json& body) {
                              if (type != train::ParentFrame::kReplayed) return;
                              problem = Error{Code::kInvalid, body.value("error", std::string())};
                            }));
  if (problem) return *problem;
  if (exit == os::Exit{}) return {};
  return Error{Code::kUnavailable,
               text(question.command.front(), " could not begin: ", os::exit_text(exit))};
}

Result<agent::ProgramFacts> ask_program(os::PosixSystem& system,
                                        const agent::AgentOptions& options) {
  const model::JobSpec& spec = options.launch.spec;
  return ask_program(system, {spec.program, spec.args, options.argv, options.environment});
}

}  // namespace edl::cli
