// A member's ledger on disk: records of 120 bytes, one behind the other, only ever added to. A
// power cut may leave a torn end; whoever opens the file to go on cuts that off.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "edl/data/ledger.h"
#include "edl/os/disk.h"

namespace edl::data {

inline constexpr std::uint64_t kLedgerRecordsMax = std::uint64_t{1} << 26;  // of one file

// How a file ends. A torn record has lost the disk's sector with its beginning or its end, which
// then reads as zeros.
enum class LedgerEnd {
  kWhole,
  kTorn,     // cut within a record, or with torn records: what a power cut leaves
  kHole,     // there are records again behind a torn one
  kDamaged,  // the record behind `lines` was changed
};

struct LedgerRead {
  LedgerLines lines{};  // up to the first that cannot be read
  LedgerEnd end = LedgerEnd::kWhole;
  std::string damage{};  // one sentence when a record cannot be read
};

// kExhausted above kLedgerRecordsMax. What a record says is not looked at, only its checksum.
Result<LedgerRead> read_ledger(os::Disk& disk, const std::string& path);

class LedgerFile {
 public:
  // Made when absent. What is behind a torn record was never synced and is cut off. kCorrupt when
  // it is damaged or no ledger.
  static Result<std::unique_ptr<LedgerFile>> open(os::Disk& disk, const std::string& path);

  // Chains the records and writes them with one call. After an error of the disk they stay in
  // memory, and the next call writes them too.
  Result<void> append(std::span<const model::LedgerRecord> records);
  // The same for records that another member chained; an error at the first that does not fit.
  Result<void> append_chained(std::span<const model::LedgerRecord> records);
  // What was appended is safe from a power cut.
  Result<void> sync();

  const Ledger& ledger() const { return ledger_; }

 private:
  explicit LedgerFile(std::unique_ptr<os::File> file) : file_(std::move(file)) {}
  void queue(const model::LedgerRecord& record);
  Result<void> write();

  std::unique_ptr<os::File> file_;
  Ledger ledger_;
  std::uint64_t end_ = 0;  // of what is in the file
  Bytes unwritten_;
};

// Records as bytes, for a member that begins with a copy of another one's ledger. Only those that
// count are sent; `from` is a step, and at most `max` follow.
Bytes encode_records(const Ledger& ledger, model::Step from, std::size_t max);
Result<LedgerLines> decode_records(ConstBytes bytes, std::size_t max);

}  // namespace edl::data
