#include "edl/data/index_folder.h"

#include <gtest/gtest.h>

#include "edl/data/record_bytes_test.h"

namespace edl::data {
namespace {

std::string some_lines(int count) {
  std::string file;
  for (int i = 0; i < count; ++i) file += text("line ", i, "\n");
  return file;
}

IndexedFile file_of(const std::string& bytes) {
  return {.path = "a.txt", .bytes = bytes.size(), .changed = 17, .format = text_lines()};
}

TEST(IndexFolder, an_index_is_read_as_it_was_written) {
  const std::string file = some_lines(200);
  const auto index = RecordIndex::scan(bytes_of(file), 0, text_lines(), Ending::kWhole).value();
  const auto read = index_from(file_of(file), index_bytes(file_of(file), index));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->count(), 200U);
  EXPECT_EQ(read->starts(), index.starts());
  EXPECT_EQ(text_of(read->frame(bytes_of(file), 130, text_lines())->record), "line 130");
}

TEST(IndexFolder, an_index_of_a_file_that_was_changed_does_not_count) {
  const std::string file = some_lines(200);
  const auto index = RecordIndex::scan(bytes_of(file), 0, text_lines(), Ending::kWhole).value();
  const Bytes kept = index_bytes(file_of(file), index);
  IndexedFile larger = file_of(file);
  ++larger.bytes;
  IndexedFile later = file_of(file);
  ++later.changed;
  IndexedFile other = file_of(file);
  other.format = tfrecords();
  for (const IndexedFile& changed : {larger, later, other}) {
    EXPECT_FALSE(index_from(changed, kept).has_value());
  }
}

TEST(IndexFolder, a_damaged_index_does_not_count) {
  const std::string file = some_lines(70);
  const auto index = RecordIndex::scan(bytes_of(file), 0, text_lines(), Ending::kWhole).value();
  const Bytes kept = index_bytes(file_of(file), index);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    Bytes damaged = kept;
    damaged[i] ^= std::byte{1};
    EXPECT_FALSE(index_from(file_of(file), damaged).has_value()) << i;
    EXPECT_FALSE(index_from(file_of(file), ConstBytes(kept).first(i)).has_value()) << i;
  }
}

}  // namespace
}  // namespace edl::data
