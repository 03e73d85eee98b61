#include "edl/agent/program.h"

#include <array>

#include "edl/base/text.h"
#include "edl/model/words.h"

namespace edl::agent {
namespace {

constexpr std::string_view kBuiltin = "builtin:";
constexpr std::array<std::string_view, 2> kBuiltins{"builtin:mlp", "builtin:linear"};

}  // namespace

Result<std::vector<std::string>> worker_command(os::Disk& disk, const std::string& edl,
                                                const std::string& program,
                                                const std::vector<std::string>& args) {
  std::vector<std::string> command;
  if (program.starts_with(kBuiltin)) {
    EDL_TRY(model::find_word("built-in program", program, kBuiltins));
    command = {edl, "worker", "--", program};
  } else if (program.ends_with(".py")) {
    return Error{Code::kInvalid,
                 text("cannot run ", program, ": programs in Python are not available yet")};
  } else if (!disk.exists(program)) {
    return Error{Code::kNotFound,
                 text("there is no program ", program,
                      ": write its path, or builtin:mlp for one that is built in")};
  } else {
    command = {program.find('/') == std::string::npos ? "./" + program : program};
  }
  command.insert(command.end(), args.begin(), args.end());
  return command;
}

}  // namespace edl::agent
