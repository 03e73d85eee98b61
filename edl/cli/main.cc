// The program `edl`. Only here the process meets its arguments, its streams and its end.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "edl/base/text.h"
#include "edl/cli/commands.h"

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

int run(std::vector<std::string> arguments) {
  Output out([](std::string_view content) { return write(stdout, content); });
  Output errors([](std::string_view content) { return write(stderr, content); });
  CommandLine line(EDL_VERSION);
  add_commands(line);
  const int exit_code = line.run(std::move(arguments), out, errors);
  out.flush();
  errors.flush();
  return exit_code;
}

}  // namespace
}  // namespace edl::cli

int main(int argc, char** argv) { return edl::cli::run({argv + 1, argv + argc}); }
