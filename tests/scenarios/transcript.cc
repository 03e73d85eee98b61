#include "tests/scenarios/transcript.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "edl/base/text.h"

namespace edl::tests {
namespace {

bool g_rewrite = false;

Command parse(const std::string& line) {
  std::istringstream in(line);
  Command command;
  in >> command.name;
  std::string word;
  while (in >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      command.words.push_back(word);
    } else {
      command.options[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return command;
}

bool is_command(const std::string& line) { return !line.empty() && line[0] != '#'; }

// What the file should say: comments and commands as they are, answers as they are now.
std::string played(const std::string& file, const Play& play) {
  std::istringstream in(file);
  std::string out;
  std::string line;
  while (std::getline(in, line)) {
    out += line + "\n";
    if (!is_command(line)) continue;
    std::string answer = play(parse(line));
    if (!answer.empty() && answer.back() != '\n') answer += '\n';
    out += "----\n" + answer;
    std::string old;
    while (std::getline(in, old) && !old.empty()) {
    }
    out += "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

void rewrite_transcripts() { g_rewrite = true; }

void play_transcripts(const std::string& folder, const std::function<Play()>& start) {
  const std::filesystem::path root = std::filesystem::path(EDL_SCENARIOS) / folder;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() != ".txt") continue;
    ++files;
    const std::string expected = content(entry.path());
    const std::string actual = played(expected, start());
    if (g_rewrite) {
      std::ofstream(entry.path()) << actual;
    } else {
      EXPECT_EQ(actual, expected) << entry.path() << " (--rewrite to accept)";
    }
  }
  EXPECT_GT(files, 0) << "no transcript in " << root;
}

}  // namespace edl::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string(argv[1]) == "--rewrite") edl::tests::rewrite_transcripts();
  return RUN_ALL_TESTS();
}
