#include "edl/cli/ask_program.h"

#include "edl/agent/worker_process.h"

namespace edl::cli {

Result<agent::ProgramFacts> ask_program(os::PosixSystem& system,
                                        const std::vector<std::string>& command, Duration limit) {
  Result<agent::ProgramFacts> facts =
      Error{Code::kUnavailable, text(command.front(), " ended without a word about itself: is it ",
                                     "a program built on EDL?")};
  agent::WorkerProcess process(
      system, {.id = "describe", .job = "", .log = ""},
      {[&](const std::string&, train::ParentFrame type, const Json& body) {
         if (type == train::ParentFrame::kProgram) facts = agent::program_facts_from(body);
       },
       [&](const std::string&, os::Exit exit) {
         if (exit != os::Exit{} && !facts.ok()) {
           facts = Error{Code::kUnavailable,
                         text(command.front(), " cannot tell about itself: ", os::exit_text(exit))};
         }
         system.finish(0);
       }});
  os::Spawn spawn;
  spawn.argv = command;
  spawn.environment = {{train::kRoleVariable, train::kRoleDescribe}};
  spawn.dies_with_parent = true;
  auto child = system.processes().spawn(spawn, [&](os::Exit exit) { process.exited(exit); });
  if (!child.ok()) return child.error();
  process.attach(std::move(child).value());
  const os::Pending alarm = system.after(limit, [&] {
    facts =
        Error{Code::kTimeout, text(command.front(), " told nothing about itself within ", limit)};
    process.signal(os::Signal::kKill);
    system.finish(0);
  });
  system.run();
  return facts;
}

}  // namespace edl::cli
