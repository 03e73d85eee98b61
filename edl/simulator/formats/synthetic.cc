// Traces as `edl sim generate` writes them: everything about a job stands in its line.
//   job,submit_s,wanted,min,max,seconds,serial_share,tenant,priority
#include <cmath>

#include "edl/base/text.h"
#include "edl/simulator/csv_table.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/scaling.h"

namespace edl::simulator {
namespace {

constexpr double kPriorityMax = 1000000;

bool knows(std::string_view first) { return first.starts_with("job,submit_s,wanted,min,max"); }

Result<Trace> read(os::Disk&, std::string_view words, const std::string&) {
  EDL_TRY(const CsvTable table, CsvTable::parse(words));
  if (table.columns() != 9) return Error{Code::kInvalid, "it must have nine columns"};
  Trace trace;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TraceJob job{.name = std::string(table.field(row, 0))};
    TimedJob timed;
    EDL_TRY(job.submitted, table.amount(row, 1));
    EDL_TRY(timed.wanted, table.count(row, 2, 1));
    EDL_TRY(timed.min, table.count(row, 3, 1));
    EDL_TRY(timed.max, table.count(row, 4, 1));
    EDL_TRY(timed.seconds, table.amount(row, 5));
    EDL_TRY(timed.serial_share, table.number(row, 6));
    EDL_TRY(const double priority, table.number(row, 8));
    if (timed.min > timed.max || timed.serial_share < 0 || timed.serial_share > 1) {
      return Error{Code::kInvalid,
                   text("row ", row + 1, ": min is above max, or the share of work ",
                        "that does not scale is not from 0 to 1")};
    }
    if (std::abs(priority) > kPriorityMax) {
      return Error{Code::kInvalid,
                   text("row ", row + 1, ": priority ", priority, " is not within ", kPriorityMax)};
    }
    job.tenant = std::string(table.field(row, 7));
    job.priority = static_cast<std::int32_t>(priority);
    job.wanted = timed.wanted;
    job.make = [timed](const ModelOptions&) { return timed_job(timed); };
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

}  // namespace

const Format kSyntheticFormat{"traces of edl sim generate", knows, read};

}  // namespace edl::simulator
