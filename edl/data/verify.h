// Proves from the ledgers of a job that every sample was trained exactly once in each epoch. Plain
// functions, no I/O.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "edl/model/ledger_record.h"

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
  std::string detail;  // one sentence
};

struct Verification {
  std::uint64_t steps = 0;
  std::uint64_t epochs = 0;   // that are whole
  std::uint64_t samples = 0;  // trained, over all epochs
  std::uint64_t missing = 0;
  std::uint64_t repeated = 0;
  std::uint64_t conflicting = 0;
  std::vector<Violation> violations{};

  bool proven() const { return violations.empty() && steps > 0; }
};

// One member's ledger, as its file has it: lines in the order in which they were written.
using LedgerLines = std::vector<model::LedgerRecord>;

// `samples`: of the data set. Equal records of one step in several ledgers are one step; of
// different generations the newer one counts.
Verification verify(std::span<const LedgerLines> ledgers, std::uint64_t samples);

}  // namespace edl::data
