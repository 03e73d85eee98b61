#include <gtest/gtest.h>

#include <memory>

#include "edl/base/bytes.h"
#include "edl/base/json.h"
#include "edl/base/random.h"
#include "edl/base/result.h"
#include "edl/base/text.h"
#include "edl/base/time.h"

namespace edl {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{Code::kInvalid, text(number, " is odd")};
  return number / 2;
}

Result<int> quarter(int number) {
  EDL_TRY(const int once, half(number));
  EDL_TRY(const int twice, half(once));
  return twice;
}

Result<void> needs_even(int number) {
  EDL_TRY(half(number));
  return {};
}

TEST(Result, try_passes_the_first_error_up) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(needs_even(3).error().code, Code::kInvalid);
  EXPECT_TRUE(needs_even(4).ok());
}

TEST(Result, carries_values_that_can_only_be_moved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, the_value_of_an_error_aborts_with_its_message) {
  EXPECT_DEATH((void)half(3).value(), "3 is odd");
}

TEST(Time, durations_read_back_as_they_are_written) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration("2h").value(), 2h);
  EXPECT_EQ(duration_text(1500ms), "1.5 s");
  EXPECT_EQ(duration_text(20us), "20 us");
  EXPECT_EQ(duration_text(0s), "0 s");
  for (const char* wrong : {"", "5", "s", "-1s", "1 s", "1e30h", "nans", "infs"}) {
    EXPECT_FALSE(parse_duration(wrong).ok()) << wrong;
  }
}

TEST(Text, finds_what_was_probably_meant) {
  const std::vector<std::string> commands{"run", "status", "scale", "store"};
  EXPECT_EQ(closest("sacle", commands), "scale");
  EXPECT_EQ(closest("statsu", commands), "status");
  EXPECT_EQ(closest("frobnicate", commands), "");
}

TEST(Text, splits_and_trims) {
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(trim("  x y \n"), "x y");
  EXPECT_EQ(trim(" \n"), "");
  const std::vector<std::string> three{"a", "b", "c"};
  EXPECT_EQ(list_text(three), "a, b and c");
}

TEST(Bytes, hexadecimal_both_ways) {
  EXPECT_EQ(hex(bytes_of("\x01\xfe")), "01fe");
  EXPECT_EQ(parse_hex("01fe").value(), copy_bytes(bytes_of("\x01\xfe")));
  for (const char* wrong : {"0", "0x", "0G", "AB"}) EXPECT_FALSE(parse_hex(wrong).ok()) << wrong;
}

TEST(Bytes, crc_matches_the_published_check_value) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c(bytes_of("56789"), crc32c(bytes_of("1234"))), 0xE3069283u);
}

TEST(Bytes, crc_of_every_length_is_what_its_polynomial_says) {
  Bytes bytes;
  for (int length = 0; length < 100; ++length) {
    std::uint32_t crc = 0xFFFFFFFFu;
    for (const std::byte byte : bytes) {
      crc ^= std::to_integer<std::uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    }
    EXPECT_EQ(crc32c(bytes), ~crc) << length;
    bytes.push_back(static_cast<std::byte>(mix64(static_cast<std::uint64_t>(length))));
  }
}

TEST(Random, is_the_same_everywhere) {
  // The first outputs of splitmix64 from state 0, as published with it.
  EXPECT_EQ(mix64(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(mix64(0x9E3779B97F4A7C15u), 0x6E789E6AA1B965F4u);
}

TEST(Random, stays_within_its_bounds_and_reaches_them) {
  Random random(1);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const auto value = random.between(-2, 2);
    EXPECT_GE(value, -2);
    EXPECT_LE(value, 2);
    low = low || value == -2;
    high = high || value == 2;
  }
  EXPECT_TRUE(low && high);
  EXPECT_FALSE(random.once_in(0));
}

struct Sample {
  std::uint8_t small = 0;
  std::int64_t wide = 0;
  std::string name;
  std::vector<int> list;
};

Result<Sample> sample_from(std::string_view input) {
  EDL_TRY(const Json json, parse_json(input));
  JsonReader in(json, "sample");
  Sample sample;
  in.read("small", sample.small);
  in.read("wide", sample.wide);
  in.read("name", sample.name);
  in.read_optional("list", sample.list);
  EDL_TRY(in.finish());
  return sample;
}

TEST(Json, reads_an_object_into_a_plain_type) {
  const auto sample = sample_from(R"({"small":255,"wide":-9,"name":"x","list":[1,2]})");
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  EXPECT_EQ(sample->small, 255);
  EXPECT_EQ(sample->wide, -9);
  EXPECT_EQ(sample->list, (std::vector<int>{1, 2}));
}

TEST(Json, says_which_field_is_wrong) {
  const auto message = [](std::string_view input) { return sample_from(input).error().message; };
  EXPECT_EQ(message(R"({"wide":1,"name":"x"})"), "sample: field \"small\" is missing");
  EXPECT_EQ(message(R"({"small":256,"wide":1,"name":"x"})"),
            "sample: field \"small\" must be a whole number from 0 to 255");
  EXPECT_EQ(message(R"({"small":1,"wide":18446744073709551615,"name":"x"})"),
            "sample: field \"wide\" must be a whole number from -9223372036854775808 to "
            "9223372036854775807");
  EXPECT_EQ(message(R"({"small":1.5,"wide":1,"name":"x"})").substr(0, 32),
            "sample: field \"small\" must be a ");
  EXPECT_EQ(message(R"({"small":1,"wide":1,"name":"x","list":["a"]})").substr(0, 31),
            "sample: field \"list\" must be a ");
  EXPECT_EQ(message("[]"), "sample: expected an object");
  EXPECT_EQ(message("{"), "not valid JSON");
}

TEST(Json, refuses_what_is_too_long_or_too_deep) {
  EXPECT_EQ(parse_json("[1,2,3]", {.bytes_max = 3}).error().code, Code::kExhausted);
  EXPECT_EQ(parse_json(std::string(100, '[')).error().code, Code::kExhausted);
  EXPECT_TRUE(parse_json(R"(["[[[[", "\"[[["])", {.depth_max = 1}).ok());
}

TEST(Json, writes_text_that_is_not_utf8_without_a_fuss) {
  EXPECT_EQ(json_line(Json("a\xff")), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace edl
