// The file of `--trace-samples`: every worker of a host appends to it, one line for each part it
// computed, in one write call, before the part is sent.
#pragma once

#include <memory>
#include <string>

#include "edl/data/trace.h"
#include "edl/os/disk.h"

namespace edl::data {

class TraceSamples {
 public:
  // Made when absent; what other workers wrote stays.
  static Result<TraceSamples> open(os::Disk& disk, const std::string& path);

  // Not synced: it is for who watches, not for recovery.
  Result<void> add(const TraceLine& line);

 private:
  explicit TraceSamples(std::unique_ptr<os::File> file) : file_(std::move(file)) {}

  std::unique_ptr<os::File> file_;
};

// Gives each line of a trace to the check, in bounded memory. A line that is no part is a
// violation; a last line without an end was cut off and is passed over.
Result<void> join_trace(os::Disk& disk, const std::string& path, Verifier& verifier,
                        TraceCheck& check);

}  // namespace edl::data
