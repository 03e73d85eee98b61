#include "edl/agent/program.h"

#include <array>

#include "edl/base/text.h"
#include "edl/model/words.h"

namespace edl::agent {
namespace {

constexpr std::string_view kBuiltin = "builtin:";
constexpr std::array<std::string_view, 2> kBuiltins{"builtin:mlp", "builtin:linear"};

// What an interpreter runs for us, as seen from the folder of our own program: in a wheel, in the
// source tree, in a system's packages.
constexpr std::array<std::string_view, 3> kPythonWorkers{
    "../_worker.py", "../../../python/edl/_worker.py",
    "../lib/python3/dist-packages/edl/_worker.py"};

Result<std::string> python_worker(os::Disk& disk, const std::string& edl) {
  const std::string folder = edl.substr(0, edl.rfind('/') + 1);
  for (const std::string_view place : kPythonWorkers) {
    std::string path = text(folder, place);
    if (disk.exists(path)) return path;
  }
  return Error{Code::kNotFound, text("EDL's package for Python is not where ", edl,
                                     " looks for it: install it with pip install .")};
}

}  // namespace

bool is_python(const std::string& program) { return program.ends_with(".py"); }

bool is_builtin(const std::string& program) { return program.starts_with(kBuiltin); }

Result<std::vector<std::string>> worker_command(os::Disk& disk, const Runners& runners,
                                                const std::string& program,
                                                const std::vector<std::string>& args) {
  std::vector<std::string> command;
  if (is_builtin(program)) {
    EDL_TRY(model::find_word("built-in program", program, kBuiltins));
    command = {runners.edl, "worker", "--", program};
  } else if (!disk.exists(program)) {
    return Error{Code::kNotFound,
                 text("there is no program ", program,
                      ": write its path, or builtin:mlp for one that is built in")};
  } else if (is_python(program)) {
    if (!disk.exists(runners.python)) {
      return Error{Code::kNotFound, text("there is no interpreter ", runners.python,
                                         " for programs in Python: say --python=PATH")};
    }
    EDL_TRY(const std::string worker, python_worker(disk, runners.edl));
    command = {runners.python, worker, program};
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
  const bool is_here = is_python(program) && disk.exists(program);
  if (is_here || program.find('/') != std::string::npos) {
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
