// The program `edl`. Only here the process meets its arguments, its streams and its end.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "edl/agent/numerics.h"
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/run_options.h"
#include "edl/os/posix/system.h"
#include "edl/train/parent_frame.h"

namespace edl::cli {
namespace {

Result<void> write(std::FILE* file, std::string_view content) {
  if (std::fwrite(content.data(), 1, content.size(), file) == content.size() &&
      std::fflush(file) == 0) {
    return {};
  }
  const int reason = errno;
  return Error{reason == EPIPE ? Code::kUnavailable : Code::kExhausted,
               text("cannot write the answer: ", std::strerror(reason))};
}

Result<std::string> read_input(std::size_t bytes_max) {
  constexpr std::size_t kPiece = 64 * 1024;
  std::string input;
  std::size_t got = kPiece;
  while (got > 0 && input.size() <= bytes_max) {
    const std::size_t had = input.size();
    input.resize(had + kPiece);
    got = std::fread(input.data() + had, 1, kPiece, stdin);
    input.resize(had + got);
  }
  if (std::ferror(stdin) != 0) {
    return Error{Code::kUnavailable, text("cannot read standard input: ", std::strerror(errno))};
  }
  if (input.size() <= bytes_max) return input;
  return Error{Code::kExhausted, text("standard input is longer than ", bytes_max, " bytes")};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The one that is said, that of the virtual environment, the system's.
std::string python() {
  const std::string said = variable("EDL_PYTHON");
  if (!said.empty()) return said;
  const std::string environment = variable("VIRTUAL_ENV");
  return environment.empty() ? "/usr/bin/python3" : environment + "/bin/python";
}

bool tunes_memory() {
  const agent::Environment ours = agent::memory_environment();
  return std::any_of(ours.begin(), ours.end(),
                     [](const auto& named) { return !variable(named.first.c_str()).empty(); });
}

int run(std::vector<std::string> arguments) {
  Output out([](std::string_view content) { return write(stdout, content); });
  Output errors([](std::string_view content) { return write(stderr, content); });
  CommandLine line(EDL_VERSION);
  Console console{read_input,
                  errors,
                  train::parent_descriptor(variable(os::kParentVariable)),
                  variable(train::kRoleVariable),
                  arguments,
                  {variable(data::kCacheVariable), variable(data::kCacheMaxVariable),
                   variable(data::kS3AccessVariable), variable("XDG_CACHE_HOME"), variable("HOME")},
                  variable("PATH"),
                  variable(agent::kBlasCoreVariable),
                  tunes_memory(),
                  python(),
                  variable(kMemoryVariable)};
  add_commands(line, console);
  const int exit_code = line.run(std::move(arguments), out, errors);
  out.flush();
  errors.flush();
  return exit_code;
}

}  // namespace
}  // namespace edl::cli

int main(int argc, char** argv) { return edl::cli::run({argv + 1, argv + argc}); }
