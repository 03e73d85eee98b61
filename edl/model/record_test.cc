#include "edl/model/record.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "edl/base/random.h"
#include "edl/model/ledger_record.h"

namespace edl::model {
namespace {

Digest some_digest(int first) {
  Digest digest;
  for (int i = 0; i < 32; ++i) digest[static_cast<std::size_t>(i)] = std::byte(first + i);
  return digest;
}

LedgerRecord some_record() {
  return {.generation = Generation(3),
          .step = Step(42),
          .epoch = Epoch(1),
          .position = 960,
          .samples = 64,
          .applied = true,
          .digest = some_digest(1),
          .chain = some_digest(100)};
}

// The layout of the comment in ledger_record.h. Files on disk have it: it may not change.
constexpr std::string_view kGolden =
    "45444c31"
    "01000000"
    "0300000000000000"
    "2a00000000000000"
    "0100000000000000"
    "c003000000000000"
    "4000000000000000"
    "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
    "6465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f80818283"
    "00000000"
    "baf16672";

TEST(LedgerRecord, has_the_documented_bytes) {
  const EncodedLedgerRecord bytes = encode(some_record());
  EXPECT_EQ(hex(bytes), kGolden);
}

TEST(LedgerRecord, decodes_what_it_encoded) {
  LedgerRecord record = some_record();
  EXPECT_EQ(decode_ledger_record(encode(record)).value(), record);
  record.applied = false;
  EXPECT_EQ(decode_ledger_record(encode(record)).value(), record);
}

TEST(LedgerRecord, every_flipped_bit_is_found) {
  EncodedLedgerRecord bytes = encode(some_record());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_EQ(decode_ledger_record(bytes).error().code, Code::kCorrupt) << "bit " << bit;
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
  }
}

TEST(LedgerRecord, wrong_sizes_and_meanings_are_corrupt) {
  const auto code = [](ConstBytes bytes) { return decode_ledger_record(bytes).error().code; };
  EncodedLedgerRecord bytes = encode(some_record());
  EXPECT_EQ(code({}), Code::kCorrupt);
  EXPECT_EQ(code(ConstBytes(bytes).first(119)), Code::kCorrupt);
  const auto with = [&](std::size_t offset, std::uint64_t value) {
    EncodedLedgerRecord changed = bytes;
    store_int(changed.data() + offset, value);
    store_int(changed.data() + 116, crc32c(ConstBytes(changed).first(116)));
    return changed;
  };
  EXPECT_EQ(code(with(0, 0x0000000132444445u)), Code::kCorrupt) << "version 2";
  EXPECT_EQ(code(with(4, 2)), Code::kCorrupt) << "unknown flag";
  EXPECT_EQ(code(with(16, 0)), Code::kCorrupt) << "step 0";
  EXPECT_EQ(code(with(112, 1)), Code::kCorrupt) << "not zero where zero is due";
}

TEST(LedgerRecord, the_chain_is_not_part_of_what_is_chained) {
  LedgerRecord other = some_record();
  other.chain = some_digest(7);
  const EncodedLedgerRecord a = encode(some_record());
  const EncodedLedgerRecord b = encode(other);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + kLedgerChainedBytes, b.begin()));
  EXPECT_NE(a, b);
}

TEST(LedgerRecord, json_both_ways) {
  const LedgerRecord record = some_record();
  EXPECT_EQ(ledger_record_from(Json(record)).value(), record);
  EXPECT_EQ(Json(record)["digest"].get<std::string>().substr(0, 8), "01020304");
}

TEST(StepRecord, numbers_keep_their_bits) {
  StepRecordHeader record;
  record.step = Step(9);
  record.samples = 64;
  record.loss_sum = std::numeric_limits<double>::infinity();
  record.found_inf = true;
  record.applied = false;
  record.metric_sums = {{"accuracy", 61}, {"zero", -0.0}, {"tiny", 5e-324}};
  record.hyper = {{"lr", 0.1}};
  record.digest = some_digest(1);
  Random random(3);
  while (record.squared_norms.size() < 1000) {
    const auto number = std::bit_cast<double>(random.next());
    if (!std::isnan(number)) record.squared_norms.push_back(number);
  }
  const auto read = step_record_from(parse_json(json_line(record)).value());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->squared_norms, record.squared_norms);
  EXPECT_EQ(read->metric_sums, record.metric_sums);
  EXPECT_TRUE(std::signbit(read->metric_sums.at("zero")));
  EXPECT_EQ(read->loss_sum, record.loss_sum);
  EXPECT_EQ(read->hyper, record.hyper);
  EXPECT_EQ(read->digest, record.digest);
  EXPECT_FALSE(read->applied);
  EXPECT_TRUE(read->found_inf);
}

TEST(StepRecord, a_loss_that_is_no_number_stays_none) {
  StepRecordHeader record;
  record.step = Step(1);
  record.loss_sum = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(step_record_from(parse_json(json_line(record)).value())->loss_sum));
}

}  // namespace
}  // namespace edl::model
