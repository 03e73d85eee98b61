// Traces of ElasticFlow: columns submit_time, iteration, model_name, batch_size, num_gpu, duration;
// the profiles hold MODEL.csv with iterations a second by batch (row) and devices (column).
#include <map>

#include "edl/base/text.h"
#include "edl/simulator/csv_table.h"
#include "edl/simulator/curve_job.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/text_file.h"

namespace edl::simulator {
namespace {

using Speeds = std::map<double, std::vector<scheduler::SpeedPoint>>;  // by batch

bool knows(std::string_view first) {
  return first.starts_with("job_id,submit_time,") &&
         first.find("model_name") != std::string_view::npos;
}

Result<Speeds> parse_speeds(std::string_view words) {
  EDL_TRY(const CsvTable table, CsvTable::parse(words));
  Speeds speeds;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    EDL_TRY(const double batch, table.number(row, 0));
    for (std::size_t column = 1; column < table.columns(); ++column) {
      const auto devices = CsvTable::parse_rows(table.name(column), ',');
      EDL_TRY(const std::uint32_t workers,
              devices.ok() ? devices->count(0, 0, 1) : devices.error());
      const std::string_view speed = table.field(row, column);
      if (speed.empty() || speed == "nan") break;  // does not fit
      EDL_TRY(const double per_s, table.number(row, column));
      // Sizes from which on more devices are no faster are no sizes.
      auto& points = speeds[batch];
      if (per_s <= 0 || (!points.empty() && per_s <= points.back().per_s)) break;
      points.push_back({workers, 1, per_s});
    }
  }
  std::erase_if(speeds, [](const auto& row) { return row.second.empty(); });
  if (speeds.empty()) return Error{Code::kInvalid, "it has no speeds"};
  return speeds;
}

Result<Speeds> read_speeds(os::Disk& disk, const std::string& profiles, const std::string& model) {
  const std::string path = text(profiles, "/", model, ".csv");
  if (profiles.empty() || !has_text_file(disk, path)) {
    return Error{Code::kNotFound, text("model ", model, " needs ", model,
                                       ".csv with its speeds: give their folder with --profiles")};
  }
  EDL_TRY(const std::string words, read_plain_or_packed(disk, path));
  auto speeds = parse_speeds(words);
  if (!speeds.ok()) return Error{Code::kInvalid, text("file ", path, ": ", speeds.error().message)};
  return speeds;
}

const std::vector<scheduler::SpeedPoint>& nearest(const Speeds& speeds, double batch) {
  const auto above = speeds.lower_bound(batch);
  return above == speeds.end() ? speeds.rbegin()->second : above->second;
}

Result<Trace> read(os::Disk& disk, std::string_view words, const std::string& profiles) {
  EDL_TRY(const CsvTable table, CsvTable::parse(words));
  EDL_TRY(const std::size_t submitted, table.column("submit_time"));
  EDL_TRY(const std::size_t iterations, table.column("iteration"));
  EDL_TRY(const std::size_t model, table.column("model_name"));
  EDL_TRY(const std::size_t batch, table.column("batch_size"));
  EDL_TRY(const std::size_t devices, table.column("num_gpu"));
  std::map<std::string, Speeds> known;
  Trace trace;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name(table.field(row, model));
    if (!known.contains(name)) {
      EDL_TRY(known[name], read_speeds(disk, profiles, name));
    }
    TraceJob job{.name = std::string(table.field(row, 0))};
    CurveOptions options;
    EDL_TRY(job.submitted, table.amount(row, submitted));
    EDL_TRY(options.work, table.amount(row, iterations));
    EDL_TRY(const double size, table.number(row, batch));
    EDL_TRY(job.wanted, table.count(row, devices, 1));
    options.speeds = nearest(known[name], size);
    options.max = std::max(options.speeds.back().workers, job.wanted);
    options.wanted = job.wanted;
    job.make = [options](const ModelOptions&) { return std::make_unique<CurveJob>(options); };
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

}  // namespace

const Format kElasticFlowFormat{"traces of ElasticFlow", knows, read};

}  // namespace edl::simulator
