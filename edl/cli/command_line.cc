#include "edl/cli/command_line.h"

#include <algorithm>
#include <charconv>

#include "edl/base/text.h"
#include "edl/cli/usage.h"

namespace edl::cli {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

const CLI::App& chosen(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return below.empty() ? app : chosen(*below.front());
}

std::string number_problem(const std::string& digits) {
  if (parse_number(digits)) return "";
  return text("\"", digits, "\" is not a whole number from 0 to 18446744073709551615");
}

}  // namespace

CommandLine::CommandLine(const std::string& version)
    : root_("EDL trains neural networks on machines that come and go.", "edl") {
  root_.set_help_flag("-h,--help", "show this help");
  root_.set_version_flag("--version", "edl " + version, "show the version");
  root_.require_subcommand(1);
  root_.get_formatter()->label("SUBCOMMAND", "COMMAND");
  root_.footer(
      "Examples:\n"
      "  edl data order --samples=1000 --seed=7 --epoch=0 --to=8\n"
      "  edl completion bash > /etc/bash_completion.d/edl\n"
      "`edl COMMAND --help` tells more about a command.");
}

CLI::App& CommandLine::add_app(CLI::App& parent, const CommandHelp& help) {
  CLI::App* app = parent.add_subcommand(help.name, help.about);
  app->group("Commands");
  app->footer("Example:\n  " + help.example);
  return *app;
}

CLI::App& CommandLine::add_group(CLI::App& parent, const CommandHelp& help) {
  CLI::App& app = add_app(parent, help);
  app.require_subcommand(1);
  return app;
}

// CLI11 takes the arguments last first, and tells everything but success by an exception.
int CommandLine::run(std::vector<std::string> arguments, Output& out, Output& errors) {
  arguments = mark_program(std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());
  try {
    root_.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return tell(error, out, errors);
  }
  return run_command(out, errors);
}

// Puts "--" before the program, so that its options are not taken for ours.
std::vector<std::string> CommandLine::mark_program(std::vector<std::string> arguments) const {
  const CLI::App* app = nullptr;
  for (const CLI::App* one : with_program_) {
    if (!arguments.empty() && one->get_name() == arguments.front()) app = one;
  }
  if (app == nullptr) return arguments;
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--") {
    const CLI::Option* option = app->get_option_no_throw(arguments[at]);
    const bool takes_next = option != nullptr && option->get_items_expected_max() > 0;
    at += takes_next ? 2 : 1;
  }
  if (at < arguments.size() && arguments[at] != "--") {
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(at), "--");
  }
  return arguments;
}

int CommandLine::run_command(Output& out, Output& errors) {
  const auto command = commands_.find(&chosen(root_));
  EDL_CHECK(command != commands_.end());
  Result<void> result = command->second->run(out);
  out.flush();
  if (result.ok()) result = out.state();
  if (result.ok()) return kDone;
  const std::string& message = result.error().message;
  errors.add(
      text("edl: ", message, message.ends_with('.') || message.ends_with('?') ? "" : ".", "\n"));
  return kFailed;
}

int CommandLine::tell(const CLI::ParseError& error, Output& out, Output& errors) const {
  if (error.get_name() == "CallForHelp") {
    out.add(root_.help());
    return kDone;
  }
  if (error.get_name() == "CallForVersion") {
    out.add(text(error.what(), "\n"));
    return kDone;
  }
  errors.add(text(usage_problem(root_, error), "\n"));
  return kWrongUsage;
}

std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return text(path_of(*app.get_parent()), " ", app.get_name());
}

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, failed] = std::from_chars(digits.data(), end, number);
  if (failed != std::errc() || rest != end) return std::nullopt;
  return number;
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::uint64_t& into,
                        const std::string& about) {
  const auto keep = [&into](const CLI::results_t& values) {
    into = parse_number(values.at(0)).value_or(into);
    return true;
  };
  return app.add_option(name, keep, about)
      ->type_name("N")
      ->check(CLI::Validator(number_problem, ""));
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& into,
                        const std::string& about) {
  const auto keep = [&into](const CLI::results_t& values) {
    into = parse_number(values.at(0));
    return true;
  };
  return app.add_option(name, keep, about)
      ->type_name("N")
      ->check(CLI::Validator(number_problem, ""));
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& into,
                          const std::string& about) {
  const auto problem = [](const std::string& word) -> std::string {
    const auto duration = parse_duration(word);
    if (!duration.ok()) return duration.error().message;
    return *duration > Duration::zero() ? "" : text("\"", word, "\" is no time at all");
  };
  const auto keep = [&into](const CLI::results_t& values) {
    into = parse_duration(values.at(0)).value();
    return true;
  };
  return app.add_option(name, keep, about)->type_name("TIME")->check(CLI::Validator(problem, ""));
}

std::string word_problem(const std::string& word, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return "";
  return text("\"", word, "\" is none of ", list_text(known));
}

}  // namespace edl::cli
