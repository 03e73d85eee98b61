#include "edl/data/record_index.h"

#include <gtest/gtest.h>

#include "edl/base/random.h"
#include "edl/base/text.h"
#include "edl/data/record_bytes_test.h"
#include "edl/data/record_files.h"

namespace edl::data {
namespace {

// Records of different lengths, but for the format that wants one.
std::vector<std::string> some_records(std::size_t count, RecordKind kind) {
  Random random(count);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t more = kind == RecordKind::kFixed ? 0 : random.below(20);
    out.push_back(text(1000 + i) + std::string(more, 'x'));
  }
  return out;
}

std::string file_of(const std::vector<std::string>& records, RecordKind kind) {
  std::string file;
  for (const std::string& record : records) file += framed_record(record, kind);
  return file;
}

const std::vector<RecordFormat> kFormats{text_lines(), fixed_records(4), tfrecords(),
                                         length_prefixed()};

TEST(RecordIndex, each_record_is_found_by_its_number) {
  for (const RecordFormat& format : kFormats) {
    for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 300U}) {
      const auto records = some_records(count, format.kind);
      const std::string file = file_of(records, format.kind);
      const auto index = RecordIndex::scan(bytes_of(file), 0, format, Ending::kWhole).value();
      ASSERT_EQ(index.count(), count);
      EXPECT_EQ(index.to(), file.size());
      for (std::size_t i = 0; i < count; ++i) {
        const Frame frame = index.frame(bytes_of(file), i, format).value();
        ASSERT_EQ(text_of(frame.record), records[i]);
      }
    }
  }
}

TEST(RecordIndex, a_range_goes_on_where_the_last_one_ended) {
  for (const RecordFormat& format : kFormats) {
    const auto records = some_records(200, format.kind);
    const std::string file = file_of(records, format.kind) + "\x01";  // of a record to come
    std::vector<std::string> found;
    std::uint64_t at = 0;
    for (;;) {
      const auto index = RecordIndex::scan(bytes_of(file), at, format, Ending::kGrows,
                                           {.records_max = 70, .bytes_max = 900})
                             .value();
      if (index.count() == 0) break;
      EXPECT_LE(index.count(), 70U);
      for (std::uint64_t i = 0; i < index.count(); ++i) {
        found.emplace_back(text_of(index.frame(bytes_of(file), i, format)->record));
      }
      at = index.to();
    }
    EXPECT_EQ(found, records);
    EXPECT_EQ(at, file.size() - 1);
  }
}

TEST(RecordIndex, a_file_that_has_changed_is_noticed) {
  const std::string file = file_of(some_records(100, RecordKind::kTfrecord), RecordKind::kTfrecord);
  const auto index = RecordIndex::scan(bytes_of(file), 0, tfrecords(), Ending::kWhole).value();
  const std::string shorter = file.substr(0, file.size() - 1);
  EXPECT_EQ(index.frame(bytes_of(shorter), 99, tfrecords()).error().code, Code::kCorrupt);
  EXPECT_EQ(
      RecordIndex::scan(bytes_of("12345"), 0, fixed_records(2), Ending::kWhole).error().message,
      "its 5 bytes are no whole number of records of 2: 1 are left over");
}

TEST(RecordFiles, names_fit_patterns_as_in_a_shell) {
  EXPECT_TRUE(fits_pattern("part-01.txt", "*.txt"));
  EXPECT_TRUE(fits_pattern("part-01.txt", "part-??.txt"));
  EXPECT_TRUE(fits_pattern("aXbXb", "a*b"));
  EXPECT_TRUE(fits_pattern("", "*"));
  EXPECT_FALSE(fits_pattern("part-01.txt.gz", "*.txt"));
  EXPECT_FALSE(fits_pattern("part-1.txt", "part-??.txt"));
  EXPECT_FALSE(fits_pattern("a", ""));
}

}  // namespace
}  // namespace edl::data
