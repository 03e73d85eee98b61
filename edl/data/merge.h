// Several members' ledgers as the one history that they tell. Of a step's records the one of the
// highest generation counts, and with it ends all that an older generation trained behind it.
#pragma once

#include <string>
#include <vector>

#include "edl/data/ledger.h"

namespace edl::data {

// What is wrong with a step, in one sentence.
struct StepProblem {
  model::Step step;
  std::string detail{};
};

class LedgerMerge {
 public:
  // Follows one member's lines: each must continue or replace, and be chained. Where they do not,
  // the member is believed up to there.
  void add(const LedgerLines& lines);

  // The history. Call once, at the end.
  std::vector<model::LedgerRecord> finish();

  const std::vector<StepProblem>& broken() const { return broken_; }
  // The first of them; `conflicts` counts all.
  const std::vector<StepProblem>& conflicting() const { return conflicting_; }
  std::uint64_t conflicts() const { return conflicts_; }

 private:
  void keep(const model::LedgerRecord& record);

  std::vector<model::LedgerRecord> records_;  // step s at s - 1: ledgers have no holes
  std::vector<StepProblem> broken_;
  std::vector<StepProblem> conflicting_;
  std::uint64_t conflicts_ = 0;
};

}  // namespace edl::data
