// The parts of `edl store`.
#pragma once

#include "edl/cli/command_line.h"
#include "edl/cli/console.h"
#include "edl/os/disk.h"

namespace edl::cli {

// The token in a file that only its owner can read.
Result<std::string> read_token(os::Disk& disk, const std::string& path);

void add_store_serve(CommandLine& line, CLI::App& store, Console& console);
void add_store_changes(CommandLine& line, CLI::App& store, Console& console);  // put, delete
void add_store_get(CommandLine& line, CLI::App& store);
void add_store_watch(CommandLine& line, CLI::App& store, Console& console);
void add_store_lease(CommandLine& line, CLI::App& store, Console& console);
void add_store_txn(CommandLine& line, CLI::App& store, Console& console);
void add_store_status(CommandLine& line, CLI::App& store);

}  // namespace edl::cli
