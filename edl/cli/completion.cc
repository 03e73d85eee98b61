// `edl completion`: scripts that complete commands and options in a shell. They are made from the
// commands themselves, so that they cannot be out of date.
#include "edl/base/text.h"
#include "edl/cli/commands.h"

namespace edl::cli {
namespace {

// A command or an option.
struct Word {
  std::string word;
  std::string about;
  bool takes_value = false;
};

// A command and what may follow it.
struct Place {
  std::string path;
  std::vector<Word> words;
};

void add_places(const CLI::App& app, std::vector<Place>& places) {
  Place place{path_of(app), {}};
  const auto below =
      app.get_subcommands([](const CLI::App* command) { return is_listed(*command); });
  for (const CLI::App* command : below) {
    place.words.push_back({command->get_name(), command->get_description()});
  }
  for (const CLI::Option* option : app.get_options()) {
    if (!is_listed(*option)) continue;
    for (const std::string& name : option->get_lnames()) {
      place.words.push_back(
          {"--" + name, option->get_description(), option->get_items_expected_max() > 0});
    }
  }
  places.push_back(std::move(place));
  for (const CLI::App* command : below) add_places(*command, places);
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// All paths but the root's: the words that lead from one command to the next.
std::string steps(const std::vector<Place>& places, std::string_view separator) {
  std::string out;
  for (std::size_t i = 1; i < places.size(); ++i) {
    out += text(i > 1 ? separator : "", in_quotes(places[i].path));
  }
  return out;
}

// Puts text into a script at the places STEPS and CHOICES.
std::string fill(std::string script, std::string_view steps, std::string_view choices) {
  script.replace(script.find("STEPS"), 5, steps);
  return script.replace(script.find("CHOICES"), 7, choices);
}

constexpr const char* kBash = R"(# Completes edl in bash. Made by `edl completion bash`.
_edl() {
  local word at=edl words=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
      STEPS) at="$at $word" ;;
    esac
  done
  case "$at" in
CHOICES  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _edl edl
)";

std::string bash_script(const std::vector<Place>& places) {
  std::string choices;
  for (const Place& place : places) {
    std::string words;
    for (const Word& word : place.words) {
      words += text(words.empty() ? "" : " ", word.word, word.takes_value ? "=" : "");
    }
    choices += text("    ", in_quotes(place.path), ") words=", in_quotes(words), " ;;\n");
  }
  return fill(kBash, steps(places, "|"), choices);
}

// zsh runs the file as a function when it finds it by itself, and as a script when it is sourced.
constexpr const char* kZsh = R"(#compdef edl
# Completes edl in zsh. Made by `edl completion zsh`.
_edl() {
  local word at=edl
  local -a plain with_value
  for word in ${words[2,CURRENT-1]}; do
    case "$at $word" in
      STEPS) at="$at $word" ;;
    esac
  done
  case "$at" in
CHOICES  esac
  _describe edl plain
  _describe edl with_value -S ''
}
if [ "$funcstack[1]" = _edl ]; then _edl "$@"; else compdef _edl edl; fi
)";

std::string zsh_script(const std::vector<Place>& places) {
  std::string choices;
  for (const Place& place : places) {
    std::string plain;
    std::string with_value;
    for (const Word& word : place.words) {
      std::string& list = word.takes_value ? with_value : plain;
      list += text(list.empty() ? "" : " ",
                   in_quotes(text(word.word, word.takes_value ? "=:" : ":", word.about)));
    }
    choices += text("    ", in_quotes(place.path), ")\n      plain=(", plain,
                    ")\n      with_value=(", with_value, ") ;;\n");
  }
  return fill(kZsh, steps(places, "|"), choices);
}

constexpr const char* kFish = R"(# Completes edl in fish. Made by `edl completion fish`.
function __edl_at
  set -l at edl
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case STEPS
        set at "$at $word"
    end
  end
  test "$at" = "$argv"
end
complete -c edl -f
CHOICES)";

std::string fish_script(const std::vector<Place>& places) {
  std::string choices;
  for (const Place& place : places) {
    for (const Word& word : place.words) {
      const bool option = word.word.starts_with("--");
      choices += text("complete -c edl -n ", in_quotes("__edl_at " + place.path),
                      option ? " -l " : " -a ", option ? word.word.substr(2) : word.word,
                      word.takes_value ? " -r" : "", " -d ", in_quotes(word.about), "\n");
    }
  }
  return fill(kFish, steps(places, " "), choices);
}

class Completion final : public Command {
 public:
  using Script = std::string (*)(const std::vector<Place>&);

  Completion(CLI::App&, const CLI::App& root, Script script) : root_(root), script_(script) {}

  Result<void> run(Output& out) override {
    std::vector<Place> places;
    add_places(root_, places);
    out.add(script_(places));
    return {};
  }

 private:
  const CLI::App& root_;
  Script script_;
};

}  // namespace

void add_completion(CommandLine& line) {
  CLI::App& completion = line.add_group(
      line.root(), {"completion", "Write a script that completes commands in a shell.",
                    "edl completion bash > /etc/bash_completion.d/edl"});
  const CLI::App& root = line.root();
  line.add<Completion>(completion,
                       {"bash", "For bash.", "edl completion bash > /etc/bash_completion.d/edl"},
                       root, bash_script);
  line.add<Completion>(completion,
                       {"zsh", "For zsh.", "edl completion zsh > ~/.zsh/functions/_edl"}, root,
                       zsh_script);
  line.add<Completion>(
      completion,
      {"fish", "For fish.", "edl completion fish > ~/.config/fish/completions/edl.fish"}, root,
      fish_script);
}

}  // namespace edl::cli
