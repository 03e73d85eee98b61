#include "edl/cli/sim_options.h"

#include <charconv>

#include "edl/base/text.h"
#include "edl/scheduler/policy.h"
#include "edl/simulator/capacity.h"

namespace edl::cli {
namespace {

constexpr std::uint64_t kNodesMax = 200000;
constexpr std::uint64_t kSlotsMax = 4096;
constexpr double kDaysMax = 60;  // that failures and the service go on

Error bad_nodes(const std::string& words) {
  return {Code::kInvalid, text("\"", words, "\" is not understood: write nodes x slots, 16x4, ",
                               "and more kinds behind a plus with their speed, 8x4+8x4@0.5")};
}

std::string not_negative(const std::string& word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool fine = failed == std::errc() && end == word.data() + word.size() && value >= 0;
  return fine && value < 1e9 ? "" : text("\"", word, "\" is no number of seconds");
}

// Of the policy, else of all that are not named.
Result<double> change_seconds(const std::string& words, std::string_view policy) {
  std::optional<double> for_all;
  std::optional<double> its_own;
  for (const std::string_view part : split(words, ',')) {
    const std::size_t sign = part.find('=');
    const bool is_named = sign != std::string_view::npos;
    const std::string digits(part.substr(is_named ? sign + 1 : 0));
    if (const std::string problem = not_negative(digits); !problem.empty()) {
      return Error{Code::kInvalid, problem};
    }
    const double seconds = std::strtod(digits.c_str(), nullptr);
    if (!is_named) {
      for_all = seconds;
      continue;
    }
    EDL_TRY(const scheduler::Policy* named, scheduler::find_policy(part.substr(0, sign)));
    if (named->name == policy) its_own = seconds;
  }
  if (!for_all) {
    return Error{Code::kInvalid, text("\"", words, "\" does not say how many seconds the other ",
                                      "policies take: write for example ours=0.1,30")};
  }
  return its_own.value_or(*for_all);
}

std::string change_problem(const std::string& words) {
  const auto seconds = change_seconds(words, "");
  return seconds.ok() ? "" : seconds.error().message;
}

CLI::Option* add_seconds(CLI::App& app, const std::string& name, double& into,
                         const std::string& about) {
  return app.add_option(name, into, about)
      ->type_name("SECONDS")
      ->check(CLI::Validator(not_negative, ""));
}

std::string nodes_problem(const std::string& words) {
  const auto nodes = parse_nodes(words);
  return nodes.ok() ? "" : nodes.error().message;
}

std::string policy_problem(const std::string& name) {
  const auto policy = scheduler::find_policy(name);
  return policy.ok() ? "" : policy.error().message;
}

std::string policies_problem(const std::string& names) {
  for (const std::string_view name : split(names, ',')) {
    const std::string problem = trim(name).empty() ? "" : policy_problem(std::string(trim(name)));
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace

void add_policy(CLI::App& app, std::string& into) {
  app.add_option("--policy", into,
                 "who decides; ours when not given, `edl sim policies` lists them")
      ->type_name("NAME")
      ->check(CLI::Validator(policy_problem, ""));
}

void add_policies(CLI::App& app, std::string& into) {
  app.add_option("--policies", into, "who decides, separated by commas; all when not given")
      ->type_name("A,B,...")
      ->expected(0, 1)
      ->check(CLI::Validator(policies_problem, ""));
}

void add_sim_options(CLI::App& app, SimWords& words) {
  app.add_option("--profiles", words.profiles, "folder with what was measured of the programs")
      ->type_name("DIR");
  app.add_option("--nodes", words.nodes, "the cluster: nodes x slots; 16x4 when not given")
      ->type_name("NxS")
      ->check(CLI::Validator(nodes_problem, ""));
  add_number(app, "--seed", words.seed, "of all chance; 1 when not given");
  add_seconds(app, "--interval", words.interval,
              "between decisions; 0: at every event; 60 when not given");
  app.add_option("--change-seconds", words.change_seconds,
                 "that a job stands still when it starts or changes, 30 when not given; "
                 "by policy: ours=0.1,30")
      ->type_name("SECONDS")
      ->check(CLI::Validator(change_problem, ""));
  app.add_flag("--declared", words.declared, "jobs tell their length");
  app.add_flag("--rules", words.rules, "EDL's rules of steadiness for every policy");
  add_word(app, "--batch", words.batch,
           "of a job: kept, adaptive (to its size), or as the policy expects it",
           std::map<std::string, std::string>{
               {"policy", "policy"}, {"kept", "kept"}, {"adaptive", "adaptive"}});
  add_seconds(app, "--freeze-seconds", words.freeze_seconds,
              "that a job is left alone after a change, where EDL's rules hold");
  const auto share = [&](const std::string& name, double& into, const std::string& about) {
    app.add_option(name, into, about)
        ->type_name("0..0.9")
        ->check(CLI::Range(0.0, 0.9).description(""));
  };
  share("--noise", words.noise, "share by which placements are faster or slower than measured");
  share("--foreign", words.foreign,
        "share of the slots that a service takes at noon, a quarter at night");
  const auto hours = [&](const std::string& name, double& into, const std::string& about) {
    app.add_option(name, into, about)
        ->type_name("HOURS")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
  };
  hours("--failures", words.failure_hours, "between two failures of a node");
  hours("--preemptions", words.preemption_hours, "between two times that a node is taken away");
}

std::vector<std::string> sim_arguments(const SimWords& words) {
  std::vector<std::string> out{text("--nodes=", words.nodes), text("--seed=", words.seed),
                               text("--interval=", words.interval),
                               text("--change-seconds=", words.change_seconds),
                               text("--batch=", words.batch)};
  if (!words.profiles.empty()) out.push_back(text("--profiles=", words.profiles));
  if (words.freeze_seconds > 0) out.push_back(text("--freeze-seconds=", words.freeze_seconds));
  if (words.noise > 0) out.push_back(text("--noise=", words.noise));
  if (words.foreign > 0) out.push_back(text("--foreign=", words.foreign));
  if (words.failure_hours > 0) out.push_back(text("--failures=", words.failure_hours));
  if (words.preemption_hours > 0) out.push_back(text("--preemptions=", words.preemption_hours));
  if (words.declared) out.emplace_back("--declared");
  if (words.rules) out.emplace_back("--rules");
  return out;
}

Result<std::vector<scheduler::Node>> parse_nodes(const std::string& words) {
  std::vector<scheduler::Node> nodes;
  int kind = 0;
  for (std::string_view part : split(words, '+')) {
    double speed = 1;
    if (const std::size_t at = part.find('@'); at != std::string_view::npos) {
      const std::string_view digits = part.substr(at + 1);
      const auto [end, failed] =
          std::from_chars(digits.data(), digits.data() + digits.size(), speed);
      if (failed != std::errc() || end != digits.data() + digits.size() || !(speed > 0)) {
        return bad_nodes(words);
      }
      part = part.substr(0, at);
    }
    const std::size_t x = part.find('x');
    if (x == std::string_view::npos) return bad_nodes(words);
    const auto count = parse_number(part.substr(0, x));
    const auto slots = parse_number(part.substr(x + 1));
    if (!count || !slots || *count == 0 || *slots == 0 || *count > kNodesMax ||
        *slots > kSlotsMax || nodes.size() + *count > kNodesMax) {
      return bad_nodes(words);
    }
    for (std::uint64_t i = 0; i < *count; ++i) {
      nodes.push_back({.name = text("node-", nodes.size()),
                       .slots = static_cast<std::uint32_t>(*slots),
                       .kind = kind == 0 ? "" : text("kind-", kind),
                       .speed = speed});
    }
    ++kind;
  }
  return nodes;
}

Result<simulator::SimulationOptions> sim_options(const SimWords& words,
                                                 const scheduler::Policy& policy) {
  simulator::SimulationOptions options;
  EDL_TRY(options.nodes, parse_nodes(words.nodes));
  options.interval = words.interval;
  EDL_TRY(options.change_seconds, change_seconds(words.change_seconds, policy.name));
  options.seed = words.seed;
  options.declared = words.declared;
  options.rules = words.rules;
  options.freeze_seconds = words.freeze_seconds;
  options.noise = words.noise;
  options.capacity = simulator::capacity_changes(
      options.nodes, {.seed = words.seed,
                      .until_s = kDaysMax * 86400,
                      .mean_between_failures_s = words.failure_hours * 3600,
                      .mean_between_preemptions_s = words.preemption_hours * 3600,
                      .foreign_share = words.foreign});
  options.adapts_batch = words.batch == "policy" ? policy.adapts_batch : words.batch == "adaptive";
  return options;
}

}  // namespace edl::cli
