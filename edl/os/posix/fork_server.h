// The inner side of a fork server: what a program's `main` calls after it has loaded its libraries.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace edl::os {

struct ForkedChild {
  std::vector<std::string> arguments;
  int parent_descriptor;  // for PosixOptions
};

// Forks a child for each request on `descriptor` (what kParentVariable says). Returns in each child
// with its arguments; in the server, with nothing, once the process that started it is gone. Needs
// a process without further threads: a request is refused while there are some. `fork` answers like
// that of the C library; an interpreter has one of its own.
std::optional<ForkedChild> serve_forks(int descriptor, const std::function<int()>& fork = nullptr);

}  // namespace edl::os
