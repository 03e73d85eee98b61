// Traces of Gavel and Shockwave, separated by tabs: type, command, folder, flag, needs data, steps,
// then for Shockwave scale factor, mode, priority, SLO, duration, arrival, and for Gavel arrival
// and scale factor. The profiles hold tacc_throughputs.json with steps a second by type and scale.
// A step at scale k trains k batches, so work is counted in batches. Batches that change while a
// job trains are not modelled.
#include <array>

#include "edl/base/json.h"
#include "edl/simulator/csv_table.h"
#include "edl/simulator/curve_job.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/text_file.h"

namespace edl::simulator {
namespace {

constexpr std::size_t kShockwaveColumns = 12;
constexpr std::size_t kGavelColumns = 8;
constexpr std::array<std::uint32_t, 4> kScales = {1, 2, 4, 8};
constexpr const char* kFile = "tacc_throughputs.json";
constexpr const char* kDevice = "v100";

bool knows(std::string_view first) {
  return split(first, '\t').size() >= kGavelColumns &&
         first.find("(batch size ") != std::string_view::npos;
}

Result<Json> read_speeds(os::Disk& disk, const std::string& profiles) {
  const std::string path = text(profiles, "/", kFile);
  if (profiles.empty() || !has_text_file(disk, path)) {
    return Error{Code::kNotFound, text("its speeds are in ", kFile,
                                       ": give the folder that has it with --profiles")};
  }
  EDL_TRY(const std::string words, read_plain_or_packed(disk, path));
  EDL_TRY(const Json all, parse_json(words, {.bytes_max = kTextFileBytesMax}));
  if (!all.is_object() || !all.contains(kDevice) || !all[kDevice].is_object()) {
    return Error{Code::kInvalid, text("file ", path, " has no speeds of ", kDevice)};
  }
  return all[kDevice];
}

std::vector<scheduler::SpeedPoint> points_of(const Json& speeds, std::string_view type) {
  std::vector<scheduler::SpeedPoint> points;
  for (const std::uint32_t scale : kScales) {
    const auto found = speeds.find(text("('", type, "', ", scale, ")"));
    if (found == speeds.end() || !found->is_object() || !found->contains("null")) continue;
    const Json& steps = (*found)["null"];
    if (!steps.is_number() || steps.get<double>() <= 0) continue;
    const double per_s = steps.get<double>() * scale;
    if (points.empty() || per_s > points.back().per_s) points.push_back({scale, 1, per_s});
  }
  return points;
}

Result<Trace> read(os::Disk& disk, std::string_view words, const std::string& profiles) {
  EDL_TRY(const CsvTable table, CsvTable::parse_rows(words, '\t'));
  EDL_TRY(const Json speeds, read_speeds(disk, profiles));
  Trace trace;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool shockwave = table.width() >= kShockwaveColumns;
    TraceJob job{.name = text("job-", row)};
    EDL_TRY(const double steps, table.amount(row, 5));
    EDL_TRY(job.wanted, table.count(row, shockwave ? 6 : 7, 1));
    EDL_TRY(job.submitted, table.amount(row, shockwave ? 11 : 6));
    CurveOptions options{.work = steps * job.wanted, .wanted = job.wanted};
    options.speeds = points_of(speeds, table.field(row, 0));
    if (options.speeds.empty()) {
      return Error{Code::kNotFound,
                   text("row ", row + 1, ": ", kFile, " has no speed of ", table.field(row, 0))};
    }
    options.max = std::max(options.speeds.back().workers, job.wanted);
    job.make = [options](const ModelOptions&) { return std::make_unique<CurveJob>(options); };
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

}  // namespace

const Format kShockwaveFormat{"traces of Gavel and Shockwave", knows, read};

}  // namespace edl::simulator
