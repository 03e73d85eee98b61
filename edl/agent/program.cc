#include "edl/agent/program.h"

#include <array>

#include "edl/base/text.h"
#include "edl/model/words.h"

namespace edl::agent {
namespace {

constexpr std::string_view kBuiltin = "builtin:";
constexpr std::array<std::string_view, 2> kBuiltins{"builtin:mlp", "builtin:linear"};

}  // namespace

bool is_builtin(const std::string& program) { return program.starts_with(kBuiltin); }

Result<std::vector<std::string>> worker_command(os::Disk& disk, const std::string& edl,
                                                const std::string& program,
                                                const std::vector<std::string>& args) {
  std::vector<std::string> command;
  if (is_builtin(program)) {
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

Result<std::vector<std::string>> plain_command(os::Disk& disk, const std::string& search_path,
                                               const std::string& program,
                                               const std::vector<std::string>& args) {
  if (is_builtin(program)) {
    return Error{
        Code::kInvalid,
        text(program, " is driven by EDL and needs no --mode=stop-resume: ", "leave that out")};
  }
  std::vector<std::string> command;
  if (program.find('/') != std::string::npos) {
    if (disk.exists(program)) command = {program};
  } else {
    for (const std::string_view folder : split(search_path, ':')) {
      const std::string path = text(folder.empty() ? "." : folder, "/", program);
      if (command.empty() && disk.exists(path)) command = {path};
    }
  }
  if (command.empty()) {
    return Error{Code::kNotFound,
                 text("there is no program ", program, ": write its path, or the name of one that ",
                      "is in PATH, as in python3 train.py")};
  }
  command.insert(command.end(), args.begin(), args.end());
  return command;
}

}  // namespace edl::agent
