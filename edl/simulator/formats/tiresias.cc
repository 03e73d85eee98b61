// Traces of Tiresias: job_id,num_gpu,submit_time,iterations,model_name,duration,interval; and the
// jobs of Philly as Pollux samples them: timestamp,duration,num_gpus,gpu_time,cluster. Neither says
// how jobs scale, so all scale as usual (scaling.h).
#include <charconv>

#include "edl/base/text.h"
#include "edl/simulator/csv_table.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/scaling.h"

namespace edl::simulator {
namespace {

TraceJob trace_job(std::string name, double submitted, double seconds, std::uint32_t wanted) {
  TraceJob job{.name = std::move(name), .submitted = submitted, .wanted = wanted};
  job.make = [seconds, wanted](const ModelOptions&) {
    return timed_job(usual_job(seconds, wanted));
  };
  return job;
}

bool knows_tiresias(std::string_view first) {
  return first.starts_with("job_id,num_gpu,submit_time,iterations,model_name,duration");
}

Result<Trace> read_tiresias(os::Disk&, std::string_view words, const std::string&) {
  EDL_TRY(const CsvTable table, CsvTable::parse(words));
  Trace trace;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    EDL_TRY(const std::uint32_t wanted, table.count(row, 1, 1));
    EDL_TRY(const double submitted, table.amount(row, 2));
    EDL_TRY(const double seconds, table.amount(row, 5));
    trace.jobs.push_back(trace_job(std::string(table.field(row, 0)), submitted, seconds, wanted));
  }
  return trace;
}

// Seconds since 1970 of "2017-10-09 07:01:55".
Result<double> moment(std::string_view words) {
  const auto part = [&](std::size_t at, std::size_t size) {
    int value = -1;
    if (words.size() >= at + size) {
      std::from_chars(words.data() + at, words.data() + at + size, value);
    }
    return value;
  };
  const std::chrono::year_month_day day(std::chrono::year(part(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(part(8, 2))));
  const int hour = part(11, 2);
  const int minute = part(14, 2);
  const int second = part(17, 2);
  if (!day.ok() || hour < 0 || minute < 0 || second < 0) {
    return Error{Code::kInvalid, text("\"", words, "\" is no date and time")};
  }
  const auto days = std::chrono::sys_days(day).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + hour * 3600 + minute * 60 + second;
}

bool knows_philly(std::string_view first) {
  return first.starts_with("timestamp,duration,num_gpus,gpu_time");
}

Result<Trace> read_philly(os::Disk&, std::string_view words, const std::string&) {
  EDL_TRY(const CsvTable table, CsvTable::parse(words));
  Trace trace;
  double first = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    EDL_TRY(const double submitted, moment(table.field(row, 0)));
    EDL_TRY(const double seconds, table.amount(row, 1));
    EDL_TRY(const std::uint32_t wanted, table.count(row, 2, 0));
    if (wanted == 0 || seconds <= 0) continue;  // jobs without devices
    first = trace.jobs.empty() ? submitted : std::min(first, submitted);
    trace.jobs.push_back(trace_job(text("job-", row), submitted, seconds, wanted));
  }
  for (TraceJob& job : trace.jobs) job.submitted -= first;
  return trace;
}

}  // namespace

const Format kTiresiasFormat{"traces of Tiresias", knows_tiresias, read_tiresias};
const Format kPhillyFormat{"jobs of Philly", knows_philly, read_philly};

}  // namespace edl::simulator
