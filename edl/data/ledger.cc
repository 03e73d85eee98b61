#include "edl/data/ledger.h"

#include "edl/base/sha256.h"
#include "edl/base/text.h"

namespace edl::data {

using model::Digest;
using model::LedgerRecord;
using model::Step;

Digest chain_of(const Digest& before, const LedgerRecord& record) {
  const model::EncodedLedgerRecord encoded = model::encode(record);
  std::array<std::byte, std::tuple_size_v<Digest> + model::kLedgerChainedBytes> bytes{};
  std::memcpy(bytes.data(), before.data(), before.size());
  std::memcpy(bytes.data() + before.size(), encoded.data(), model::kLedgerChainedBytes);
  return sha256(bytes);
}

Digest Ledger::chain() const { return records_.empty() ? Digest{} : records_.back().chain; }

Digest Ledger::chain_before(Step step) const {
  return step.value() <= 1 ? Digest{} : records_[step.value() - 2].chain;
}

Result<void> Ledger::check_place(const LedgerRecord& record) const {
  const std::uint64_t step = record.step.value();
  if (step == 0 || step > records_.size() + 1) {
    return Error{Code::kCorrupt, text("step ", step, " follows step ", records_.size())};
  }
  if (step == records_.size() + 1) return {};
  if (record.generation > records_[step - 1].generation) return {};
  return Error{Code::kCorrupt,
               text("step ", step, " comes again with generation ", record.generation.value(),
                    ", which is not higher than ", records_[step - 1].generation.value())};
}

Result<void> Ledger::append(LedgerRecord record) {
  EDL_TRY(check_place(record));
  record.chain = chain_of(chain_before(record.step), record);
  records_.resize(record.step.value() - 1);
  records_.push_back(record);
  return {};
}

Result<void> Ledger::append_chained(const LedgerRecord& record) {
  EDL_TRY(check_place(record));
  if (record.chain != chain_of(chain_before(record.step), record)) {
    return Error{Code::kCorrupt, text("the record of step ", record.step.value(),
                                      " is not chained to the one ", "before it")};
  }
  records_.resize(record.step.value() - 1);
  records_.push_back(record);
  return {};
}

}  // namespace edl::data
