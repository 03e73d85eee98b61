// The commands of the program and what one call of it does. A family of commands lives in one file
// and is added by one line in commands.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "edl/base/result.h"
#include "edl/base/time.h"
#include "edl/cli/output.h"

namespace edl::cli {

// What a command does once its options are known. Constructed with the CLI::App that it adds its
// options to; the options are its members.
class Command {
 public:
  virtual ~Command() = default;
  // Answers on `out`; an error is told on standard error and ends the program with 1.
  virtual Result<void> run(Output& out) = 0;
};

struct CommandHelp {
  std::string name;
  std::string about;    // one line
  std::string example;  // one or more lines, each a whole command
};

class CommandLine {
 public:
  explicit CommandLine(const std::string& version);

  CLI::App& root() { return root_; }
  // A command that only holds others.
  CLI::App& add_group(CLI::App& parent, const CommandHelp& help);
  // A command of type T: constructed with its CLI::App and the rest.
  template <class T, class... Rest>
  CLI::App& add(CLI::App& parent, const CommandHelp& help, Rest&&... rest) {
    CLI::App& app = add_app(parent, help);
    commands_[&app] = std::make_unique<T>(app, std::forward<Rest>(rest)...);
    return app;
  }
  // What follows the first word of this command of the root that is no option is a program's own.
  void takes_program(const CLI::App& app) { with_program_.insert(&app); }

  // The exit code: 0 done, 1 refused or failed, 2 wrong usage. Talk goes to `errors`.
  int run(std::vector<std::string> arguments, Output& out, Output& errors);

 private:
  CLI::App& add_app(CLI::App& parent, const CommandHelp& help);
  int run_command(Output& out, Output& errors);
  std::vector<std::string> mark_program(std::vector<std::string> arguments) const;
  int tell(const CLI::ParseError& error, Output& out, Output& errors) const;

  CLI::App root_;
  std::map<const CLI::App*, std::unique_ptr<Command>> commands_;
  std::set<const CLI::App*> with_program_;
};

// Commands and options without a group are for our own processes; people are not told of them.
template <class T>
bool is_listed(const T& command_or_option) {
  return !command_or_option.get_group().empty();
}

// "edl data order".
std::string path_of(const CLI::App& app);

// Options whose values are whole numbers, written with decimal digits only.
CLI::Option* add_number(CLI::App& app, const std::string& name, std::uint64_t& into,
                        const std::string& about);
CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& into,
                        const std::string& about);
std::optional<std::uint64_t> parse_number(std::string_view digits);
// One that is a time, "5s", and not zero.
CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& into,
                          const std::string& about);
// --cache, --cache-max and --s3-access: how a node fetches files, and where it keeps them.
struct CacheWords {
  std::string folder{};
  std::string bytes_max{};
  std::string s3_access{};
};
void add_cache_options(CLI::App& app, CacheWords& words);
// Empty when `word` is one of the known.
std::string word_problem(const std::string& word, const std::vector<std::string>& known);
// One that is one of a few words, each with its meaning.
template <class T>
CLI::Option* add_word(CLI::App& app, const std::string& name, T& into, const std::string& about,
                      const std::map<std::string, T>& words) {
  const auto keep = [&into, words](const CLI::results_t& values) {
    into = words.at(values.at(0));
    return true;
  };
  std::vector<std::string> known;
  for (const auto& [word, meaning] : words) known.push_back(word);
  return app.add_option(name, keep, about)
      ->type_name("WORD")
      ->check(CLI::Validator([known](const std::string& word) { return word_problem(word, known); },
                             ""));
}

}  // namespace edl::cli
