// Workloads of Pollux: name,time,application,num_replicas,batch_size; the profiles hold one file
// for each application.
#include "edl/base/text.h"
#include "edl/simulator/csv_table.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/profile_folder.h"
#include "edl/simulator/profiled_job.h"

namespace edl::simulator {
namespace {

bool knows(std::string_view first_line) {
  return first_line.starts_with("name,time,application,num_replicas,batch_size");
}

std::unique_ptr<JobModel> make(const Application& application, std::uint32_t batch,
                               const ModelOptions& options) {
  const bool adapts = options.adapts_batch && application.kept_batch == 0;
  const std::uint32_t kept = options.adapts_batch ? application.kept_batch : batch;
  return std::make_unique<ProfiledJob>(
      application, ProfiledOptions{adapts ? 0 : kept, options.whole_seconds, options.node_slots});
}

Result<Trace> read(os::Disk& disk, std::string_view words, const std::string& profiles) {
  EDL_TRY(const CsvTable table, CsvTable::parse(words));
  Trace trace;
  auto applications = std::make_shared<std::map<std::string, Application>>();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name(table.field(row, 2));
    if (!applications->contains(name)) {
      EDL_TRY((*applications)[name], read_profile(disk, profiles, name));
    }
    const Application& application = applications->at(name);
    TraceJob job{.name = std::string(table.field(row, 0))};
    EDL_TRY(job.submitted, table.amount(row, 1));
    EDL_TRY(job.wanted, table.count(row, 3, 1));
    EDL_TRY(const std::uint32_t batch, table.count(row, 4, 1));
    job.make = [&application, batch](const ModelOptions& options) {
      return make(application, batch, options);
    };
    trace.jobs.push_back(std::move(job));
  }
  trace.applications = std::move(applications);
  return trace;
}

}  // namespace

const Format kPolluxFormat{"workloads of Pollux", knows, read};

}  // namespace edl::simulator
