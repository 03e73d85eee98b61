#include "edl/data/ledger_file.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::data {
namespace {

using model::kLedgerRecordBytes;
using model::LedgerRecord;

constexpr std::size_t kRecordsAtOnce = 4096;

bool looks_torn(ConstBytes record) {
  return load_int<std::uint32_t>(record.data()) == 0 ||
         load_int<std::uint32_t>(record.data() + kLedgerRecordBytes - 4) == 0;
}

// Takes the records of a file in order.
class Collector {
 public:
  explicit Collector(std::string path) : path_(std::move(path)) {}

  void take(ConstBytes bytes, std::uint64_t number) {
    const auto record = model::decode_ledger_record(bytes);
    if (record.ok() && read_.end == LedgerEnd::kWhole) {
      read_.lines.push_back(*record);
    } else if (record.ok()) {
      if (read_.end == LedgerEnd::kTorn) read_.end = LedgerEnd::kHole;
    } else if (read_.end == LedgerEnd::kWhole) {
      read_.end = looks_torn(bytes) ? LedgerEnd::kTorn : LedgerEnd::kDamaged;
      read_.damage = text("record ", number, " of ", path_, ": ", record.error().message);
    }
  }

  LedgerRead finish(bool torn) {
    if (torn && read_.end == LedgerEnd::kWhole) read_.end = LedgerEnd::kTorn;
    return std::move(read_);
  }

 private:
  std::string path_;
  LedgerRead read_;
};

Result<LedgerRead> read(os::File& file, const std::string& path) {
  EDL_TRY(const std::uint64_t size, file.size());
  if (size / kLedgerRecordBytes > kLedgerRecordsMax) {
    return Error{Code::kExhausted, text(path, " has ", size, " bytes: more than the limit of ",
                                        kLedgerRecordsMax * kLedgerRecordBytes, " for a ledger")};
  }
  Collector collector(path);
  Bytes buffer(std::min<std::uint64_t>(kRecordsAtOnce * kLedgerRecordBytes, size));
  std::uint64_t number = 0;
  std::size_t got = buffer.size();
  // Up to `size` only: a job that runs goes on writing.
  for (std::uint64_t at = 0; at < size && got == buffer.size(); at += got) {
    buffer.resize(std::min<std::uint64_t>(buffer.size(), size - at));
    EDL_TRY(got, file.read_at(at, buffer));
    ConstBytes rest = ConstBytes(buffer).first(got);
    for (; rest.size() >= kLedgerRecordBytes; rest = rest.subspan(kLedgerRecordBytes)) {
      collector.take(rest.first(kLedgerRecordBytes), ++number);
    }
  }
  return collector.finish(size % kLedgerRecordBytes != 0);
}

}  // namespace

Result<LedgerRead> read_ledger(os::Disk& disk, const std::string& path) {
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  return read(*file, path);
}

Result<std::unique_ptr<LedgerFile>> LedgerFile::open(os::Disk& disk, const std::string& path) {
  EDL_TRY(auto file, disk.open(path, os::Open::kWrite));
  EDL_TRY(const LedgerRead found, read(*file, path));
  if (found.end == LedgerEnd::kDamaged) return Error{Code::kCorrupt, found.damage};
  std::unique_ptr<LedgerFile> out(new LedgerFile(std::move(file)));
  for (const LedgerRecord& line : found.lines) {
    if (const auto added = out->ledger_.append_chained(line); !added.ok()) {
      return Error{Code::kCorrupt, text(path, ": ", added.error().message)};
    }
  }
  out->end_ = found.lines.size() * kLedgerRecordBytes;
  if (found.end != LedgerEnd::kWhole) EDL_TRY(out->file_->truncate(out->end_));
  return out;
}

void LedgerFile::queue(const LedgerRecord& record) {
  const auto encoded = model::encode(record);
  unwritten_.insert(unwritten_.end(), encoded.begin(), encoded.end());
}

Result<void> LedgerFile::write() {
  if (unwritten_.empty()) return {};
  EDL_TRY(file_->write_at(end_, unwritten_));
  end_ += unwritten_.size();
  unwritten_.clear();
  return {};
}

Result<void> LedgerFile::append(std::span<const LedgerRecord> records) {
  for (const LedgerRecord& record : records) {
    EDL_TRY(ledger_.append(record));
    queue(ledger_.records().back());
  }
  return write();
}

Result<void> LedgerFile::append_chained(std::span<const LedgerRecord> records) {
  for (const LedgerRecord& record : records) {
    EDL_TRY(ledger_.append_chained(record));
    queue(record);
  }
  return write();
}

Result<void> LedgerFile::sync() {
  EDL_TRY(write());
  return file_->sync();
}

Bytes encode_records(const Ledger& ledger, model::Step from, std::size_t max) {
  Bytes bytes;
  const auto& records = ledger.records();
  const std::size_t begin = from.value() == 0 ? 0 : from.value() - 1;
  for (std::size_t i = begin; i < records.size() && i - begin < max; ++i) {
    const auto encoded = model::encode(records[i]);
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  }
  return bytes;
}

Result<LedgerLines> decode_records(ConstBytes bytes, std::size_t max) {
  if (bytes.size() % kLedgerRecordBytes != 0 || bytes.size() / kLedgerRecordBytes > max) {
    return Error{Code::kInvalid, text(bytes.size(), " bytes are not at most ", max, " records of ",
                                      kLedgerRecordBytes)};
  }
  LedgerLines lines;
  for (; !bytes.empty(); bytes = bytes.subspan(kLedgerRecordBytes)) {
    EDL_TRY(lines.emplace_back(), model::decode_ledger_record(bytes.first(kLedgerRecordBytes)));
  }
  return lines;
}

}  // namespace edl::data
