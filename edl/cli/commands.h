// All families of commands, each in a file of its own.
#pragma once

#include "edl/cli/command_line.h"
#include "edl/cli/console.h"

namespace edl::cli {

// The console outlives the line.
void add_commands(CommandLine& line, Console& console);

void add_completion(CommandLine& line);
void add_data(CommandLine& line);
void add_store(CommandLine& line, Console& console);

}  // namespace edl::cli
