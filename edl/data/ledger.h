// The ledger: which stable step trained what, as a chain. A step that was lost with all members and
// computed again has a record of a higher generation, which replaces the older one and all behind
// it. Plain state; the bytes of a record are described in edl/model/ledger_record.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "edl/model/ledger_record.h"

namespace edl::data {

// The chain of `record` behind `before` (zeros for the first record).
model::Digest chain_of(const model::Digest& before, const model::LedgerRecord& record);

// One member's ledger, as its file has it: in the order in which they were written, with those that
// later ones replaced.
using LedgerLines = std::vector<model::LedgerRecord>;

class Ledger {
 public:
  // Adds the next step, or one that replaces a step and all behind it. Its chain is set here. An
  // error when a step is left out, or the record neither continues nor replaces.
  Result<void> append(model::LedgerRecord record);
  // The same for a record that was chained elsewhere; the chain must fit.
  Result<void> append_chained(const model::LedgerRecord& record);

  const std::vector<model::LedgerRecord>& records() const { return records_; }
  model::Step last_step() const { return model::Step(records_.size()); }
  // Of the last record; zeros when there is none.
  model::Digest chain() const;

 private:
  Result<void> check_place(const model::LedgerRecord& record) const;
  model::Digest chain_before(model::Step step) const;

  std::vector<model::LedgerRecord> records_;  // step s at s - 1
};

}  // namespace edl::data
