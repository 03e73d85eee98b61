#include "edl/cli/usage.h"

#include <vector>

#include "edl/base/text.h"
#include "edl/cli/command_line.h"

namespace edl::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (is_listed(*below)) names.push_back(below->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_listed(*option)) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string meant = closest(word, known);
  return meant.empty() ? "" : text(", did you mean ", meant, "?");
}

std::string unknown_word(const CLI::App& app, std::string_view word) {
  if (word.starts_with('-')) {
    const std::string_view option = word.substr(0, word.find('='));
    return text("there is no option ", option, did_you_mean(option, option_names(app)));
  }
  const std::vector<std::string> commands = command_names(app);
  if (commands.empty()) return text("\"", word, "\" is one word too many");
  return text("there is no command \"", word, "\"", did_you_mean(word, commands));
}

// What CLI11 says about values is short; say it in our words.
std::string in_words(const CLI::ParseError& error) {
  std::string complaint = error.what();
  if (error.get_name() != "ArgumentMismatch") return complaint;
  return text(complaint.substr(0, complaint.find(':')), " takes exactly one value");
}

std::string missing_command(const std::vector<std::string>& commands) {
  return text("a command is missing: ", commands.size() > 1 ? "one of " : "", list_text(commands));
}

// Words that nobody took. Where an option before it is wrong, the mark before a program is left,
// too.
std::vector<std::string> unknown_words(const CLI::App& app) {
  std::vector<std::string> words = app.remaining();
  std::erase(words, "--");
  return words;
}

// The first command on the way down that met a word it does not know, else the last one.
const CLI::App& culprit(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return !unknown_words(app).empty() || below.empty() ? app : culprit(*below.front());
}

std::string problem(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = unknown_words(app);
  const std::vector<std::string> commands = command_names(app);
  if (!unknown.empty()) return unknown_word(app, unknown.front());
  return commands.empty() ? in_words(error) : missing_command(commands);
}

}  // namespace

std::string usage_problem(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = culprit(root);
  return text(path_of(app), ": ", problem(app, error), " (see ", path_of(app), " --help)");
}

}  // namespace edl::cli
