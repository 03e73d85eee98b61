// Traces: which job came when, and what it was. Readers for public formats, told apart by their
// first line; each job becomes a model that the simulator can run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/os/disk.h"
#include "edl/simulator/job_model.h"

namespace edl::simulator {

// How jobs are to behave: what belongs to the run and not to the trace.
struct ModelOptions {
  bool adapts_batch = false;
  bool whole_seconds = true;
  std::uint32_t node_slots = 4;
};

struct TraceJob {
  std::string name{};
  double submitted = 0;
  std::uint32_t wanted = 1;
  std::int32_t priority = 0;
  std::string tenant{};
  std::function<std::unique_ptr<JobModel>(const ModelOptions&)> make{};
};

struct Trace {
  std::string name{};
  std::vector<TraceJob> jobs{};  // by submission
  // What the jobs' models refer to.
  std::shared_ptr<const std::map<std::string, Application>> applications{};
};

// `profiles` is the folder with what was measured; formats that need none take it as empty.
Result<Trace> read_trace(os::Disk& disk, const std::string& path, const std::string& profiles);

}  // namespace edl::simulator
