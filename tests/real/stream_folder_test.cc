#include "edl/data/stream_folder.h"

#include <gtest/gtest.h>

#include "edl/data/record_bytes_test.h"
#include "tests/real/test_folder.h"

namespace edl::data {
namespace {

class StreamFolders : public ::testing::Test {
 protected:
  StreamFolder stream(const RecordFormat& format = text_lines()) {
    return StreamFolder(
        folder_.path(),
        {.pattern = "*.txt", .format = format, .partition = {.records_max = 3, .bytes_max = 1000}});
  }
  // Looks and agrees, as often as something is found; answers how often.
  int read_all(StreamFolder& stream) {
    int partitions = 0;
    for (;; ++partitions) {
      const auto found = stream.look(last_ ? &*last_ : nullptr);
      EXPECT_TRUE(found.ok()) << found.error().message;
      has_ended_ = found.ok() && found->has_ended;
      if (!found.ok() || !found->partition) return partitions;
      last_ = found->partition;
      last_->first = stream.records();
      EXPECT_TRUE(stream.add(*last_).ok());
    }
  }
  static std::vector<std::string> records(StreamFolder& stream) {
    std::vector<std::string> out;
    for (std::uint64_t i = 0; i < stream.records(); ++i) {
      out.emplace_back(text_of(stream.read(i)->bytes));
    }
    return out;
  }

  tests::TestFolder folder_{"stream-folder"};
  std::optional<Partition> last_;
  bool has_ended_ = false;
};

using Words = std::vector<std::string>;

TEST_F(StreamFolders, whole_records_of_a_file_that_grows_are_read_once) {
  StreamFolder reader = stream();
  EXPECT_EQ(read_all(reader), 0);
  folder_.append("a.txt", "1\n2\n3\n4\n5");
  EXPECT_EQ(read_all(reader), 2);  // three records, and one
  EXPECT_EQ(records(reader), (Words{"1", "2", "3", "4"}));
  folder_.append("a.txt", "5\n6");
  EXPECT_EQ(read_all(reader), 1);
  EXPECT_EQ(records(reader), (Words{"1", "2", "3", "4", "55"}));
  EXPECT_FALSE(has_ended_);
}

TEST_F(StreamFolders, a_file_is_whole_once_a_later_one_is_there) {
  StreamFolder reader = stream();
  folder_.write("a.txt", "1\n2");
  folder_.write("other", "x\n");
  folder_.write(".c.txt", "x\n");
  EXPECT_EQ(read_all(reader), 1);
  folder_.write("b.txt", "3\n4");
  EXPECT_EQ(read_all(reader), 2);
  EXPECT_EQ(records(reader), (Words{"1", "2", "3"}));
  folder_.write("END", "");
  EXPECT_EQ(read_all(reader), 1);
  EXPECT_EQ(records(reader), (Words{"1", "2", "3", "4"}));
  EXPECT_TRUE(has_ended_);
}

TEST_F(StreamFolders, another_reader_goes_on_where_the_first_one_was) {
  folder_.write("a.txt", "1\n2\n3\n4\n");
  StreamFolder one = stream();
  read_all(one);
  StreamFolder other = stream();
  for (const Partition& partition :
       {Partition{"a.txt", 0, 6, 0, 3}, Partition{"a.txt", 6, 8, 3, 1}}) {
    ASSERT_TRUE(other.add(partition).ok());
  }
  EXPECT_EQ(records(other), records(one));
  folder_.write("b.txt", "5\n");
  EXPECT_EQ(read_all(other), 1);
  EXPECT_EQ(other.read(4)->place, (Place{folder_.path("b.txt"), 0, 2}));
}

TEST_F(StreamFolders, what_comes_too_late_is_refused_by_name) {
  StreamFolder reader = stream();
  folder_.write("a.txt", "1\n");
  folder_.write("b.txt", "2\n");
  read_all(reader);
  folder_.append("a.txt", "3\n");
  EXPECT_EQ(reader.look(&*last_).error().message,
            folder_.path("a.txt") +
                ": came, or grew, after b.txt was begun, and records of a stream are in the order "
                "of the names of their files: give what is new a name behind b.txt");
}

TEST_F(StreamFolders, a_record_that_is_cut_off_is_refused_once_nothing_more_can_come) {
  StreamFolder reader = stream(length_prefixed());
  folder_.write("a.txt", framed_record("one", RecordKind::kLength32) + number_bytes(7, 4));
  EXPECT_EQ(read_all(reader), 1);
  folder_.write("END", "");
  EXPECT_EQ(reader.look(&*last_).error().message,
            folder_.path("a.txt") + ": the record at byte 7 is cut off: the file ends at byte 11");
}

TEST_F(StreamFolders, a_file_that_was_changed_behind_the_catalog_is_noticed) {
  folder_.write("a.txt", "1\n2\n3\n");
  StreamFolder reader = stream();
  read_all(reader);
  folder_.write("a.txt", "1\n2");
  EXPECT_EQ(reader.read(0).error().message,
            folder_.path("a.txt") +
                ": has 3 bytes here, but had 6 when its records were counted; "
                "files of a stream must not become shorter");
  folder_.write("a.txt", "1234\n\n");
  EXPECT_EQ(reader.read(0).error().message,
            folder_.path("a.txt") +
                ": has other records at bytes 0 to 6 than when they were "
                "counted; it must not be changed");
}

}  // namespace
}  // namespace edl::data
