#include "edl/data/record_format.h"

#include <gtest/gtest.h>

#include "edl/data/record_bytes_test.h"

namespace edl::data {
namespace {

std::vector<std::string> records_of(const std::string& file, const RecordFormat& format) {
  std::vector<std::string> out;
  std::uint64_t at = 0;
  while (const auto frame = frame_at(bytes_of(file), at, format, Ending::kWhole).value()) {
    EXPECT_EQ(frame->from, at);
    out.emplace_back(text_of(checked_record(*frame, bytes_of(file), format).value()));
    at = frame->to;
  }
  EXPECT_EQ(at, file.size());
  return out;
}

std::string refusal(const std::string& file, const RecordFormat& format, std::uint64_t at = 0) {
  const auto frame = frame_at(bytes_of(file), at, format, Ending::kWhole);
  if (!frame.ok()) return frame.error().message;
  if (!*frame) return "nothing";
  const auto record = checked_record(**frame, bytes_of(file), format);
  return record.ok() ? "" : record.error().message;
}

using Words = std::vector<std::string>;

TEST(RecordFormat, a_line_is_what_stands_before_its_end) {
  EXPECT_EQ(records_of("one\n\ntwo\r\n", text_lines()), (Words{"one", "", "two\r"}));
  EXPECT_EQ(records_of("one\ntwo", text_lines()), (Words{"one", "two"}));
  EXPECT_EQ(records_of("", text_lines()), Words{});
}

TEST(RecordFormat, records_of_one_size_follow_each_other) {
  EXPECT_EQ(records_of("abcdef", fixed_records(3)), (Words{"abc", "def"}));
  EXPECT_EQ(refusal("abcde", fixed_records(3), 3),
            "the record at byte 3 is cut off: the file ends at byte 5");
}

TEST(RecordFormat, records_that_say_their_length) {
  const std::string file = framed_record("first", RecordKind::kLength32) +
                           framed_record("", RecordKind::kLength32) +
                           framed_record("third one", RecordKind::kLength32);
  EXPECT_EQ(records_of(file, length_prefixed()), (Words{"first", "", "third one"}));
  EXPECT_EQ(refusal(file.substr(0, 8), length_prefixed()),
            "the record at byte 0 is cut off: the file ends at byte 8");
}

// The bytes were made by another program than this one.
TEST(RecordFormat, tfrecords_are_read_as_others_write_them) {
  const Bytes file = parse_hex("0300000000000000b099490e6162636e57f121").value();
  EXPECT_EQ(records_of(std::string(text_of(file)), tfrecords()), Words{"abc"});
  EXPECT_EQ(masked_crc32c(bytes_of("123456789")), 0xC78AB0E5U);
  EXPECT_EQ(records_of(tfrecord_of("abc") + tfrecord_of(""), tfrecords()), (Words{"abc", ""}));
}

TEST(RecordFormat, a_changed_byte_of_a_tfrecord_is_found) {
  const std::string file = tfrecord_of("some bytes");
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    EXPECT_NE(refusal(changed, tfrecords()), "") << i;
  }
  std::string changed = file;
  changed[14] = 'X';
  EXPECT_EQ(refusal(changed, tfrecords()),
            "the record at byte 0 does not fit its checksum: the file is damaged");
  changed = file;
  changed[1] = 'X';
  EXPECT_EQ(
      refusal(changed, tfrecords()),
      "the record at byte 0 has a length that does not fit its checksum: the file is damaged, "
      "or no TFRecord file");
}

TEST(RecordFormat, what_is_not_whole_yet_is_waited_for_and_refused_at_the_end) {
  for (const RecordFormat& format :
       {text_lines(), fixed_records(5), tfrecords(), length_prefixed()}) {
    const std::string file = framed_record("12345", format.kind);
    for (std::size_t length = 1; length < file.size(); ++length) {
      const std::string cut = file.substr(0, length);
      const auto growing = frame_at(bytes_of(cut), 0, format, Ending::kGrows);
      EXPECT_FALSE(growing.value().has_value()) << length;
      const bool is_line = format.kind == RecordKind::kLines;
      EXPECT_EQ(frame_at(bytes_of(cut), 0, format, Ending::kWhole).ok(), is_line) << length;
    }
    EXPECT_TRUE(frame_at(bytes_of(file), 0, format, Ending::kGrows).value().has_value());
  }
}

TEST(RecordFormat, lengths_above_the_limit_are_refused_before_anything_is_read) {
  RecordFormat lines = text_lines();
  RecordFormat lengths = length_prefixed();
  lines.record_bytes_max = lengths.record_bytes_max = 4;
  EXPECT_EQ(refusal("12345\n", lines),
            "the record at byte 0 is no line: there is no end of it within 4 bytes "
            "(record_bytes_max)");
  EXPECT_EQ(refusal("1234\n", lines), "");
  EXPECT_EQ(refusal(number_bytes(0xFFFFFFFF, 4), lengths),
            "the record at byte 0 has 4294967295 bytes; the limit is 4 (record_bytes_max). It may "
            "be another format");
  EXPECT_EQ(refusal("12", text_lines(), 3),
            "there is no byte 3: the file has 2, and must not become shorter");
  EXPECT_EQ(validate(fixed_records(0)).error().message,
            "records of 0 bytes are no records: give record_bytes");
}

}  // namespace
}  // namespace edl::data
