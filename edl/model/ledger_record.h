// One line of the ledger: a stable step. Fixed size, so that a ledger is an array of them.
//
// Bytes of a record, little-endian:
//
//   offset size  field
//        0    4  magic "EDL1"; the digit is the version of this layout
//        4    4  flags: bit 0 = applied, the others 0
//        8    8  generation
//       16    8  step, from 1
//       24    8  epoch
//       32    8  position where the step begins
//       40    8  samples
//       48   32  digest of the reduced gradients
//       80   32  chain: SHA-256 of the chain of the record before (zeros for the first) and of
//                bytes 0 to 79 of this record; its owner computes it
//      112    4  zero
//      116    4  CRC-32C of bytes 0 to 115
//      120
#pragma once

#include <array>
#include <cstdint>

#include "edl/base/bytes.h"
#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/fields.h"
#include "edl/model/ids.h"

namespace edl::model {

struct LedgerRecord {
  Generation generation;
  Step step;
  Epoch epoch;
  std::uint64_t position = 0;
  std::uint64_t samples = 0;
  bool applied = true;
  Digest digest{};
  Digest chain{};

  bool operator==(const LedgerRecord&) const = default;
};

inline constexpr std::size_t kLedgerRecordBytes = 120;
inline constexpr std::size_t kLedgerChainedBytes = 80;
using EncodedLedgerRecord = std::array<std::byte, kLedgerRecordBytes>;

// The first kLedgerChainedBytes do not depend on `chain`: they are what it is computed from.
EncodedLedgerRecord encode(const LedgerRecord& record);
// kCorrupt when the bytes are not exactly what `encode` makes.
Result<LedgerRecord> decode_ledger_record(ConstBytes bytes);

// The fields that `edl ledger` shows, except `members`, which belong to the view.
void to_json(Json& json, const LedgerRecord& record);
Result<LedgerRecord> ledger_record_from(const Json& json);

}  // namespace edl::model
