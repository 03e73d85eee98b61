// Programs that can be trained: how a worker of one is started.
#pragma once

#include <string>
#include <vector>

#include "edl/base/result.h"
#include "edl/os/disk.h"

namespace edl::agent {

bool is_builtin(const std::string& program);

bool is_python(const std::string& program);

// What runs workers on this machine: our own program, and the interpreter of those in Python.
struct Runners {
  std::string edl;
  std::string python;
};

// The command that runs a worker of `program`: our own for those that are built in, the interpreter
// for those in Python, else the program itself. One sentence when there is no such program.
Result<std::vector<std::string>> worker_command(os::Disk& disk, const Runners& runners,
                                                const std::string& program,
                                                const std::vector<std::string>& args);

// The command of a worker that EDL does not drive, as a shell would find it in `search_path`.
Result<std::vector<std::string>> plain_command(os::Disk& disk, const std::string& search_path,
                                               const std::string& program,
                                               const std::vector<std::string>& args);

}  // namespace edl::agent
