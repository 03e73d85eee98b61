// Processes of one engine that wait for commands.
#pragma once

#include <string>
#include <vector>

#include "edl/base/result.h"

namespace edl::bench {

class Group {
 public:
  using Line = std::vector<std::string>;

  // One process for each line; all hear the commands, the first one answers.
  explicit Group(const std::vector<Line>& lines);
  ~Group();
  Group(Group&& other) noexcept : processes_(std::move(other.processes_)) {}

  // The line that the first process answers. After an error the group is of no use any more.
  Result<std::string> ask(const std::string& command);

 private:
  struct Process {
    int pid = -1;
    int input = -1;
    int output = -1;
  };
  static Process start(const Line& line);

  std::vector<Process> processes_;
};

}  // namespace edl::bench
