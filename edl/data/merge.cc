#include "edl/data/merge.h"

#include "edl/base/text.h"

namespace edl::data {
namespace {

using model::LedgerRecord;

constexpr std::uint64_t kConflictsTold = 100;

bool same_step(const LedgerRecord& a, const LedgerRecord& b) {
  return a.epoch == b.epoch && a.position == b.position && a.samples == b.samples &&
         a.applied == b.applied && a.digest == b.digest;
}

}  // namespace

void LedgerMerge::add(const LedgerLines& lines) {
  Ledger ledger;
  for (const LedgerRecord& line : lines) {
    if (const auto added = ledger.append_chained(line); !added.ok()) {
      broken_.push_back({line.step, added.error().message});
      break;
    }
  }
  for (const LedgerRecord& record : ledger.records()) keep(record);
}

void LedgerMerge::keep(const LedgerRecord& record) {
  const std::size_t at = record.step.value() - 1;
  if (at == records_.size()) return records_.push_back(record);
  LedgerRecord& known = records_[at];
  if (record.generation > known.generation) {
    known = record;
  } else if (record.generation == known.generation && !same_step(record, known)) {
    if (++conflicts_ > kConflictsTold) return;
    conflicting_.push_back({record.step, text("two members have different records of step ",
                                              record.step, " in generation ", record.generation)});
  }
}

std::vector<LedgerRecord> LedgerMerge::finish() {
  std::size_t length = records_.empty() ? 0 : 1;
  while (length < records_.size() &&
         records_[length].generation >= records_[length - 1].generation) {
    ++length;
  }
  records_.resize(length);
  for (std::size_t i = 1; i < records_.size() && conflicting_.empty(); ++i) {
    if (records_[i].chain == chain_of(records_[i - 1].chain, records_[i])) continue;
    broken_.push_back({records_[i].step, text("the record of step ", records_[i].step,
                                              " does not follow from what other members have")});
    break;
  }
  return std::move(records_);
}

}  // namespace edl::data
