// The parts of `edl sim` that its files share.
#pragma once

#include <span>
#include <string>

#include "edl/cli/command_line.h"
#include "edl/cli/console.h"
#include "edl/simulator/summary.h"

namespace edl::cli {

// A table for people: one run a line, and the means of policies that ran several traces.
std::string summary_table(std::span<const simulator::Summary> runs);
std::string summary_csv(std::span<const simulator::Summary> runs);

void add_sim_autoscale(CommandLine& line, CLI::App& sim);
void add_sim_compare(CommandLine& line, CLI::App& sim, Console& console);
void add_sim_experiments(CommandLine& line, CLI::App& sim);
void add_sim_plan(CommandLine& line, CLI::App& sim);  // and generate

}  // namespace edl::cli
