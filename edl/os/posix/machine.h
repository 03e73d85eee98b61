// The machine and the terminal that this process runs on, and signals to processes that others of
// ours started.
#pragma once

#include <optional>
#include <string>

#include "edl/base/result.h"
#include "edl/os/process.h"

namespace edl::os {

struct Machine {
  std::string host;
  std::uint32_t cores = 1;  // that this process may use
  std::string program;      // path of our own program
  std::string directory;    // that we run in
  int pid = 0;
};

Machine this_machine();

// Width of the terminal behind standard error; nothing when it is none.
std::optional<int> terminal_columns();

// Sends the signal if `ancestor` started the process, itself or through others; kNotFound when it
// did not: the number may by now belong to a process of somebody else.
int process_id();
Result<void> signal_descendant(int pid, int ancestor, Signal signal);

// Sends the signal to all processes of the group whose first process had this number; kNotFound
// when there are none. For a group that we know to be of ours: nobody checks that here.
Result<void> signal_group(int group, Signal signal);
// Whether one of them still runs.
bool has_group(int group);

}  // namespace edl::os
