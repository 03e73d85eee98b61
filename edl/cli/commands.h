// All families of commands, each in a file of its own.
#pragma once

#include "edl/cli/command_line.h"

namespace edl::cli {

void add_commands(CommandLine& line);

void add_completion(CommandLine& line);
void add_data(CommandLine& line);
void add_store(CommandLine& line);

}  // namespace edl::cli
