// `edl advise`: which batches are worth their samples, by the noise that a job has measured.
#include <cmath>
#include <optional>

#include "edl/agent/job_directory.h"
#include "edl/base/text.h"
#include "edl/batch/goodput.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/data/lines.h"

namespace edl::cli {
namespace {

constexpr double kEfficient = 0.8;
constexpr int kTableRows = 8;

struct Measured {
  std::uint64_t step = 0;
  double noise_scale = 0;
};

// The newest measurement that an event tells of.
Result<std::optional<Measured>> newest(os::Disk& disk, const std::string& path) {
  std::optional<Measured> found;
  if (!disk.exists(path)) return found;
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  data::LineReader lines(*file, kEventBytesMax);
  for (;;) {
    EDL_TRY(const auto line, lines.next());
    if (!line) return found;
    if (line->find("\"noise_scale\"") == std::string_view::npos) continue;
    const auto event = parse_json(*line, {.bytes_max = kEventBytesMax});
    if (!event.ok() || !event->is_object()) continue;
    Measured measured;
    JsonReader in(*event, "event");
    in.read("step", measured.step);
    in.read("noise_scale", measured.noise_scale);
    if (in.finish().ok() && measured.noise_scale > 0) found = measured;
  }
}

std::string percent(double share) { return text(std::lround(100 * share), " %"); }

class Advise final : public JobCommand {
 public:
  explicit Advise(CLI::App& app) : JobCommand(app) {}

 private:
  Result<void> answer(os::Disk& disk, const JobFiles& job, Output& out) override {
    const agent::JobPaths paths{job.dir};
    EDL_TRY(const agent::Launch launch, agent::read_job(disk, paths));
    EDL_TRY(const auto measured, newest(disk, paths.events()));
    if (!measured) return refusal(job, launch);
    const std::uint64_t base = launch.spec.batch;
    const double noise = measured->noise_scale;
    const std::uint64_t most = batch::batch_at_efficiency(noise, base, kEfficient);
    Json table = Json::array();
    for (int row = 0; row < kTableRows; ++row) {
      const std::uint64_t batch = base << row;
      table.push_back({{"batch", batch}, {"efficiency", batch::efficiency(noise, base, batch)}});
    }
    if (json()) {
      const Json all{{"job", job.name}, {"step", measured->step}, {"noise_scale", noise},
                     {"batch", base},   {"batch_at_80", most},    {"table", table}};
      out.add(json_line(all) + "\n");
      return {};
    }
    out.add(text("The noise scale of job ", job.name, " is ", std::llround(noise),
                 " samples after step ", measured->step,
                 ". A sample teaches 80 % of what it does in ", "a batch of ", base,
                 ", or more, in batches of up to ", most, ".\n"));
    for (const Json& row : table) {
      out.add(text("  batch ", row["batch"].get<std::uint64_t>(), ": ",
                   percent(row["efficiency"].get<double>()), "\n"));
    }
    return {};
  }

  static Error refusal(const JobFiles& job, const agent::Launch& launch) {
    if (launch.logical_workers < 2) {
      return {Code::kNotFound, text("job ", job.name,
                                    " has one logical worker: noise is measured between the parts ",
                                    "of a step, so train with --logical-workers=2 or more")};
    }
    return {Code::kNotFound, text("job ", job.name, " has measured no noise yet: it takes about ",
                                  "130 steps, and a gradient that is not lost in it")};
  }
};

}  // namespace

void add_advise(CommandLine& line) {
  line.add<Advise>(line.root(), {"advise", "Tell which batches are worth their samples.",
                                 "edl advise digits-1"});
}

}  // namespace edl::cli
