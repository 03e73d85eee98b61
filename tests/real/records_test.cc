#include "edl/torch/records.h"

#include <gtest/gtest.h>

#include "tests/real/test_folder.h"

namespace edl::torch {
namespace {

// "3,7": x is 3 twice, y is 7.
Result<Batch> two_numbers(ConstBytes record) {
  const auto words = split(text_of(record), ',');
  if (words.size() != 2) return Error{Code::kInvalid, text(words.size(), " words instead of 2")};
  const float x = std::stof(std::string(words[0]));
  return Batch{::torch::tensor({x, x}), ::torch::tensor(std::stoi(std::string(words[1])))};
}

class Records : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    return folder_.write(name, bytes);
  }
  Result<std::shared_ptr<const Dataset>> lines() const {
    return records(data::record_files(folder_.path(), "*.csv", data::text_lines()), two_numbers);
  }

  tests::TestFolder folder_{"records"};
};

TEST_F(Records, are_numbered_by_the_names_of_their_files) {
  write("b.csv", "3,30\n4,40\n");
  write("a.csv", "1,10\n2,20\n");
  write("c.csv", "");
  write("d.csv", "5,50");
  write("notes.txt", "no record");
  write(".e.csv", "half a fi");
  const auto set = lines().value();
  ASSERT_EQ(set->size(), 5U);
  const std::vector<std::uint64_t> samples{4, 0, 2};
  const Batch batch = set->batch(samples, {}).value();
  EXPECT_TRUE(batch.x.equal(::torch::tensor({{5.F, 5.F}, {1.F, 1.F}, {3.F, 3.F}})));
  EXPECT_TRUE(batch.y.equal(::torch::tensor({50, 10, 30})));
}

TEST_F(Records, say_where_they_lie) {
  const std::string a = write("a.csv", "1,10\n2,20\n");
  const std::string b = write("b.csv", "3,30\n");
  const auto set = lines().value();
  const std::vector<std::uint64_t> samples{0, 1, 2, 0};
  const std::vector<data::Place> places{{a, 0, 10}, {b, 0, 5}, {a, 0, 5}};
  EXPECT_EQ(set->where(samples).value(), places);
}

TEST_F(Records, that_are_no_examples_are_named_by_file_and_offset) {
  const std::string a = write("a.csv", "1,10\n2\nx,1\n");
  const auto set = lines().value();
  const std::vector<std::uint64_t> second{1};
  EXPECT_EQ(set->batch(second, {}).error().message,
            a + ": the record at byte 5 is no example: 1 words instead of 2");
  const std::vector<std::uint64_t> third{2};
  EXPECT_EQ(set->batch(third, {}).error().message,
            a + ": the record at byte 7 is no example: stof");
}

TEST_F(Records, that_are_cut_off_are_refused_before_the_job_begins) {
  const std::string a = write("a.csv", "12345");
  EXPECT_EQ(records(data::record_files({a}, data::length_prefixed()), two_numbers).error().message,
            a + ": the record at byte 0 has 875770417 bytes; the limit is 67108864 "
                "(record_bytes_max). It may be another format");
  EXPECT_EQ(records(data::record_files(folder_.path(), "*.txt", data::text_lines()), two_numbers)
                .error()
                .message,
            folder_.path() + ": no file in it fits \"*.txt\"");
  EXPECT_EQ(records(data::record_files({a, a}, data::text_lines()), two_numbers).error().message,
            a + ": is given twice");
}

}  // namespace
}  // namespace edl::torch
