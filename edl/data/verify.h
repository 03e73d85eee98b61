// Proves from the ledgers of a job that every sample was trained exactly once in each epoch. An
// epoch that was left early is proven as far as it went. Plain state, no I/O.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edl/data/ledger.h"
#include "edl/data/merge.h"
#include "edl/model/limits.h"
#include "edl/model/sample_count.h"

namespace edl::data {

enum class ViolationKind {
  kMissingSample,
  kRepeatedSample,
  kConflictingStep,
  kBrokenChain,
  kUnreadable,
};
std::string_view name(ViolationKind kind);

struct Violation {
  ViolationKind kind = ViolationKind::kUnreadable;
  model::Step step;
  std::string detail{};  // one sentence
};

enum class Verdict { kProven, kViolated, kIncomplete };
std::string_view name(Verdict verdict);

struct Verification {
  Verdict verdict = Verdict::kIncomplete;
  std::uint64_t steps = 0;
  std::uint64_t epochs = 0;   // that are whole
  std::uint64_t samples = 0;  // trained, over all epochs
  std::uint64_t missing = 0;
  std::uint64_t repeated = 0;
  std::uint64_t conflicting = 0;
  std::vector<Violation> violations{};  // the first hundred
  std::string reason{};                 // why it is incomplete

  bool proven() const { return verdict == Verdict::kProven; }
};

// Ledgers first, then `close`, then whatever else is found against the history.
class Verifier {
 public:
  // `samples`: of the data set. A stream is an epoch that is never whole.
  explicit Verifier(const model::SampleCount& samples)
      : samples_(samples.is_known() ? samples.known() : model::kSamplesMax) {}

  // One member's. Equal records of one step in several ledgers are one step; of different
  // generations the newer one counts.
  void add(const LedgerLines& lines) { merge_.add(lines); }
  void close();
  // Step s at s - 1.
  const std::vector<model::LedgerRecord>& history() const { return history_; }

  void violate(ViolationKind kind, model::Step step, std::string detail);
  // Samples of a step that nobody saw in the trace, or that were others.
  void count_missing(std::uint64_t samples) { out_.missing += samples; }
  void count_conflicting() { ++out_.conflicting; }
  // What is missing is not against the job, but there is no proof without it.
  void lacks(std::string reason);

  Verification finish();

 private:
  struct Place {
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
  };
  Place walk(const model::LedgerRecord& record, Place expected);
  void misplaced(const model::LedgerRecord& record, Place expected);

  std::uint64_t samples_;  // of an epoch, or more than any stream has
  LedgerMerge merge_;
  std::vector<model::LedgerRecord> history_;
  Verification out_;
  bool violated_ = false;
};

// All in one, for ledgers that are in memory.
Verification verify(std::span<const LedgerLines> ledgers, const model::SampleCount& samples);

}  // namespace edl::data
