// All families of commands, each in a file of its own.
#pragma once

#include "edl/cli/command_line.h"
#include "edl/cli/console.h"

namespace edl::cli {

// The console outlives the line.
void add_commands(CommandLine& line, Console& console);

void add_advise(CommandLine& line);
void add_checkpoint(CommandLine& line);
void add_completion(CommandLine& line);
void add_data(CommandLine& line, Console& console);
void add_data_fetch(CommandLine& line, CLI::App& data, Console& console);  // and cache
void add_data_step(CommandLine& line, CLI::App& data);
void add_explain(CommandLine& line);
void add_guard(CommandLine& line, Console& console);
void add_hash(CommandLine& line);
void add_ledger(CommandLine& line);
void add_verify(CommandLine& line);
void add_chaos(CommandLine& line);
void add_replay(CommandLine& line, Console& console);
void add_resume(CommandLine& line, Console& console);  // and join
void add_run(CommandLine& line, Console& console);
void add_scale(CommandLine& line);   // and stop
void add_status(CommandLine& line);  // and leader
void add_worker(CommandLine& line, Console& console);
void add_sim(CommandLine& line, Console& console);
void add_store(CommandLine& line, Console& console);

}  // namespace edl::cli
