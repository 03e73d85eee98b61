// What of a worker's log its user wants to see when the job has failed.
#pragma once

#include <string>
#include <vector>

namespace edl::agent {

struct LastWords {
  std::vector<std::string> lines{};
  bool is_traceback = false;  // of the program; else what it printed last
};

// From the end of a log: the traceback with which the program ended, whole or nearly so and nothing
// else. Where there is none, the last lines; what the core noted as a matter of course is left out.
LastWords last_words(const std::vector<std::string>& log);

}  // namespace edl::agent
