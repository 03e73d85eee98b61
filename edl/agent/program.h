// Programs that can be trained: how a worker of one is started.
#pragma once

#include <string>
#include <vector>

#include "edl/base/result.h"
#include "edl/os/disk.h"

namespace edl::agent {

bool is_builtin(const std::string& program);

// The command that runs a worker of `program`: our own for those that are built in, else the
// program itself. One sentence when there is no such program.
Result<std::vector<std::string>> worker_command(os::Disk& disk, const std::string& edl,
                                                const std::string& program,
                                                const std::vector<std::string>& args);

// The command of a worker that EDL does not drive, as a shell would find it in `search_path`.
Result<std::vector<std::string>> plain_command(os::Disk& disk, const std::string& search_path,
                                               const std::string& program,
                                               const std::vector<std::string>& args);

}  // namespace edl::agent
