// Which samples forward really saw: a line for each part that was computed, and the check of such
// lines against the ledger. Plain state; see trace_samples.h for the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edl/data/partition.h"
#include "edl/data/verify.h"
#include "edl/model/ids.h"
#include "edl/model/ledger_record.h"
#include "edl/model/sample_count.h"

namespace edl::data {

struct TraceLine {
  model::Step step;
  model::Epoch epoch;
  model::LogicalWorker v;
  model::Generation generation;
  model::WorkerId worker{};
  std::vector<std::uint64_t> indices{};  // in the order in which forward saw them
  std::vector<Place> where{};            // they lie, when they lie in files
};

inline constexpr std::size_t kTraceLineBytesMax = 64 << 20;

// {"step", "epoch", "v", "generation", "worker", "indices"}, and "where" when there is something to
// say, with its end.
std::string trace_line(const TraceLine& line);
Result<TraceLine> trace_line_from(std::string_view text);

// How a job reads its data.
struct JobData {
  model::SampleCount samples = 0;
  std::uint64_t seed = 0;
  std::uint32_t logical_workers = 1;
  bool batch_is_fixed = false;  // then a part of a step has the same samples in every view
};

// The samples that part v of a step in the ledger must have seen.
std::vector<std::uint64_t> part_indices(const JobData& data, const model::LedgerRecord& record,
                                        model::LogicalWorker v);

// Joins the lines of a trace with a verifier's history. Each part of each step needs one equal
// line, of any generation up to the record's (finished parts survive a change of view), and no
// different one: of any generation when the batch is fixed, else of the record's own, as another
// view may have begun the step with another batch. Lines of steps that never became stable mean
// nothing.
class TraceCheck {
 public:
  // kExhausted when there are more parts than memory is taken for. The verifier is closed and
  // outlives this.
  static Result<TraceCheck> make(Verifier& verifier, const JobData& data);

  void take(const TraceLine& line);
  // Tells what was not seen.
  void finish();

 private:
  TraceCheck(Verifier& verifier, const JobData& data);
  bool is_equal(const TraceLine& line, const model::LedgerRecord& record) const;
  std::size_t place(model::Step step, model::LogicalWorker v) const;

  Verifier& verifier_;
  JobData data_;
  std::vector<bool> seen_;  // of each part of each step
};

}  // namespace edl::data
