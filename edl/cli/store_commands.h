// The parts of `edl store`.
#pragma once

#include "edl/cli/command_line.h"
#include "edl/os/disk.h"

namespace edl::cli {

// The token in a file that only its owner can read.
Result<std::string> read_token(os::Disk& disk, const std::string& path);

void add_store_serve(CommandLine& line, CLI::App& store);

}  // namespace edl::cli
