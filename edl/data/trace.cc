#include "edl/data/trace.h"

#include <algorithm>

#include "edl/base/json.h"
#include "edl/model/fields.h"
#include "edl/model/order.h"
#include "edl/model/position.h"

namespace edl::data {
namespace {

using model::LedgerRecord;
using model::LogicalWorker;

constexpr std::uint64_t kPartsMax = std::uint64_t{1} << 33;  // a gibibyte of flags

model::PositionRange part_of(const LedgerRecord& record, LogicalWorker v, std::uint32_t parts) {
  const model::StepPlan plan{.step = record.step,
                             .epoch = record.epoch,
                             .positions = {record.position, record.position + record.samples}};
  return plan.part(v, parts);
}

}  // namespace

std::string trace_line(const TraceLine& line) {
  std::string out = text("{\"step\":", line.step, ",\"epoch\":", line.epoch, ",\"v\":", line.v,
                         ",\"generation\":", line.generation,
                         ",\"worker\":", json_line(line.worker), ",\"indices\":[");
  for (std::size_t i = 0; i < line.indices.size(); ++i) {
    if (i > 0) out += ',';
    out += std::to_string(line.indices[i]);
  }
  out += ']';
  if (!line.where.empty()) out += text(",\"where\":", json_line(Json(line.where)));
  return out + "}\n";
}

Result<TraceLine> trace_line_from(std::string_view text) {
  EDL_TRY(const Json json, parse_json(text, {.bytes_max = kTraceLineBytesMax}));
  JsonReader in(json, "part");
  TraceLine line;
  in.read("step", line.step);
  in.read("epoch", line.epoch);
  in.read("v", line.v);
  in.read("generation", line.generation);
  model::read_text_optional(in, "worker", line.worker);
  in.read("indices", line.indices);
  if (in.has("where")) in.read_list("where", line.where, place_from);
  EDL_TRY(in.finish());
  return line;
}

std::vector<std::uint64_t> part_indices(const JobData& data, const LedgerRecord& record,
                                        LogicalWorker v) {
  model::PositionRange part = part_of(record, v, data.logical_workers);
  if (data.samples.is_known()) part.to = std::min(part.to, data.samples.known());
  part.from = std::min(part.from, part.to);
  return model::sample_indices(part, data.samples, data.seed, record.epoch);
}

TraceCheck::TraceCheck(Verifier& verifier, const JobData& data)
    : verifier_(verifier),
      data_(data),
      seen_(verifier.history().size() * data.logical_workers, false) {}

Result<TraceCheck> TraceCheck::make(Verifier& verifier, const JobData& data) {
  const std::uint64_t steps = verifier.history().size();
  if (steps <= kPartsMax / data.logical_workers) return TraceCheck(verifier, data);
  return Error{Code::kExhausted,
               text("cannot join a trace with ", steps, " steps of ", data.logical_workers,
                    " parts: the limit is ", kPartsMax, " parts in all")};
}

std::size_t TraceCheck::place(model::Step step, LogicalWorker v) const {
  return (step.value() - 1) * data_.logical_workers + v.value();
}

bool TraceCheck::is_equal(const TraceLine& line, const LedgerRecord& record) const {
  if (line.v.value() >= data_.logical_workers || line.epoch != record.epoch) return false;
  const auto part = part_of(record, line.v, data_.logical_workers);
  if (line.indices.size() != part.size()) return false;
  if (data_.samples.is_known() && part.to > data_.samples.known()) return false;
  return line.indices == model::sample_indices(part, data_.samples, data_.seed, record.epoch);
}

void TraceCheck::take(const TraceLine& line) {
  const auto& history = verifier_.history();
  if (line.step.value() == 0 || line.step.value() > history.size()) return;
  const LedgerRecord& record = history[line.step.value() - 1];
  if (is_equal(line, record)) {
    if (line.generation <= record.generation) seen_[place(line.step, line.v)] = true;
    return;
  }
  if (!data_.batch_is_fixed && line.generation != record.generation) return;
  verifier_.count_conflicting();
  verifier_.violate(ViolationKind::kConflictingStep, line.step,
                    text("worker ", line.worker, " trained part ", line.v, " of step ", line.step,
                         " on other samples than the ledger says"));
}

void TraceCheck::finish() {
  for (const LedgerRecord& record : verifier_.history()) {
    for (std::uint32_t v = 0; v < data_.logical_workers; ++v) {
      const LogicalWorker part(v);
      if (seen_[place(record.step, part)]) continue;
      const std::uint64_t samples = part_of(record, part, data_.logical_workers).size();
      if (samples == 0) break;  // so are the parts behind it
      verifier_.count_missing(samples);
      verifier_.violate(ViolationKind::kMissingSample, record.step,
                        text("no line of the trace shows the ", samples, " samples of part ", v,
                             " of step ", record.step));
    }
  }
}

}  // namespace edl::data
