// Transcripts: text in, text out. A file is a list of blocks, each a command line, "----", and what
// it answered, up to an empty line. `--rewrite` writes down what it answers now; the diff is
// reviewed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace edl::tests {

// "acquire a number=3 at=2s" -> name, words {a}, options {number: 3, at: 2s}.
struct Command {
  std::string name;
  std::vector<std::string> words;
  std::map<std::string, std::string> options;
};

using Play = std::function<std::string(const Command&)>;

// Plays every *.txt in tests/scenarios/`folder`; `start` makes a fresh player for each file.
void play_transcripts(const std::string& folder, const std::function<Play()>& start);

// Set by `main` when --rewrite is given.
void rewrite_transcripts();

}  // namespace edl::tests
