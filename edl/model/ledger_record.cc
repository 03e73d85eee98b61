#include "edl/model/ledger_record.h"

#include <algorithm>

namespace edl::model {
namespace {

constexpr std::uint32_t kMagic = 0x314C4445;  // "EDL1"
constexpr std::uint32_t kApplied = 1;
constexpr std::size_t kChecked = kLedgerRecordBytes - sizeof(std::uint32_t);

Error corrupt(std::string_view problem) {
  return {Code::kCorrupt, text("ledger record: ", problem)};
}

Digest digest_at(const std::byte* at) {
  Digest digest;
  std::copy_n(at, digest.size(), digest.begin());
  return digest;
}

}  // namespace

EncodedLedgerRecord encode(const LedgerRecord& record) {
  EDL_CHECK(record.step >= Step(1));
  EncodedLedgerRecord bytes{};
  std::byte* at = bytes.data();
  store_int(at, kMagic);
  store_int(at + 4, record.applied ? kApplied : 0u);
  store_int(at + 8, record.generation.value());
  store_int(at + 16, record.step.value());
  store_int(at + 24, record.epoch.value());
  store_int(at + 32, record.position);
  store_int(at + 40, record.samples);
  std::copy(record.digest.begin(), record.digest.end(), at + 48);
  std::copy(record.chain.begin(), record.chain.end(), at + 80);
  store_int(at + kChecked, crc32c({at, kChecked}));
  return bytes;
}

Result<LedgerRecord> decode_ledger_record(ConstBytes bytes) {
  if (bytes.size() != kLedgerRecordBytes) {
    return corrupt(text(bytes.size(), " bytes instead of ", kLedgerRecordBytes));
  }
  const std::byte* at = bytes.data();
  if (load_int<std::uint32_t>(at + kChecked) != crc32c(bytes.first(kChecked))) {
    return corrupt("the checksum does not match");
  }
  if (load_int<std::uint32_t>(at) != kMagic) return corrupt("not of a version that is known here");
  const auto flags = load_int<std::uint32_t>(at + 4);
  if ((flags & ~kApplied) != 0 || load_int<std::uint32_t>(at + 112) != 0) {
    return corrupt("bits are set that have no meaning");
  }
  LedgerRecord record{.generation = Generation(load_int<std::uint64_t>(at + 8)),
                      .step = Step(load_int<std::uint64_t>(at + 16)),
                      .epoch = Epoch(load_int<std::uint64_t>(at + 24)),
                      .position = load_int<std::uint64_t>(at + 32),
                      .samples = load_int<std::uint64_t>(at + 40),
                      .applied = (flags & kApplied) != 0,
                      .digest = digest_at(at + 48),
                      .chain = digest_at(at + 80)};
  if (record.step < Step(1)) return corrupt("step is 0; steps count from 1");
  return record;
}

void to_json(Json& json, const LedgerRecord& record) {
  json = Json{{"generation", record.generation},
              {"step", record.step},
              {"epoch", record.epoch},
              {"position", record.position},
              {"samples", record.samples},
              {"applied", record.applied},
              {"digest", digest_json(record.digest)},
              {"chain", digest_json(record.chain)}};
}

Result<LedgerRecord> ledger_record_from(const Json& json) {
  JsonReader in(json, "ledger record");
  LedgerRecord record;
  in.read("generation", record.generation);
  in.read("step", record.step);
  in.read("epoch", record.epoch);
  in.read("position", record.position);
  in.read("samples", record.samples);
  in.read("applied", record.applied);
  in.read_with("digest", record.digest, digest_from);
  in.read_with("chain", record.chain, digest_from);
  if (record.step < Step(1)) in.fail("step is 0; steps count from 1");
  EDL_TRY(in.finish());
  return record;
}

}  // namespace edl::model
