// events.jsonl: lines are added at its end. What an earlier run was cut off in is cut off here too.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/base/json.h"
#include "edl/os/disk.h"

namespace edl::agent {

class EventFile {
 public:
  static Result<std::unique_ptr<EventFile>> open(os::Disk& disk, const std::string& path);

  Result<void> add(std::string_view line);

 private:
  EventFile(std::unique_ptr<os::File> file, std::uint64_t end)
      : file_(std::move(file)), end_(end) {}

  std::unique_ptr<os::File> file_;
  std::uint64_t end_;
};

// Gives every whole line of the file that is an object to `take`, first to last. A file that does
// not exist has none.
Result<void> read_events(os::Disk& disk, const std::string& path,
                         const std::function<void(const Json&)>& take);

}  // namespace edl::agent
