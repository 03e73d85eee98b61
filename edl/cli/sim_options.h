// Options that the commands of `edl sim` share, and what they mean for a run.
#pragma once

#include <string>
#include <vector>

#include "edl/cli/command_line.h"
#include "edl/os/system.h"
#include "edl/simulator/simulation.h"

namespace edl::cli {

struct SimWords {
  std::string profiles{};
  std::string nodes = "16x4";
  std::uint64_t seed = 1;
  double interval = 60;
  std::string change_seconds = "30";  // for all, or "ours=0.1,30": its own, and of the others
  bool declared = false;
  bool rules = false;
  std::string batch = "policy";
  double freeze_seconds = 0;
  double noise = 0;
  double failure_hours = 0;
  double preemption_hours = 0;
  double foreign = 0;
};

void add_policy(CLI::App& app, std::string& into);
void add_policies(CLI::App& app, std::string& into);
void add_sim_options(CLI::App& app, SimWords& words);
// The same options as words of a command line.
std::vector<std::string> sim_arguments(const SimWords& words);

Result<simulator::SimulationOptions> sim_options(const SimWords& words,
                                                 const scheduler::Policy& policy);
// "16x4": nodes times slots; kinds are joined by a plus, each with its speed: "8x4+8x4@0.5".
Result<std::vector<scheduler::Node>> parse_nodes(const std::string& words);

}  // namespace edl::cli
