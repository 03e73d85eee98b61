#include "edl/cli/ask_program.h"

#include "edl/agent/worker_process.h"

namespace edl::cli {

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
  spawn.environment = {{train::kRoleVariable, talk.role}};
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

Result<agent::ProgramFacts> ask_program(os::PosixSystem& system,
                                        const std::vector<std::string>& command, Duration limit) {
  std::optional<Result<agent::ProgramFacts>> facts;
  const auto ended =
      talk_with_program(system, {.command = command, .role = train::kRoleDescribe, .limit = limit},
                        [&](train::ParentFrame type, const Json& body) {
                          if (type == train::ParentFrame::kProgram) {
                            facts = agent::program_facts_from(body);
                          }
                        });
  if (facts && facts->ok()) return *facts;
  if (!ended.ok()) return ended.error();
  if (*ended != os::Exit{}) {
    return Error{Code::kUnavailable,
                 text(command.front(), " cannot tell about itself: ", os::exit_text(*ended))};
  }
  if (facts) return *facts;
  return Error{Code::kUnavailable,
               text(command.front(), " ended without a word about itself: is it ",
                    "a program built on EDL?")};
}

}  // namespace edl::cli
