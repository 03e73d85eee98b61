#include "edl/data/partition.h"

#include <gtest/gtest.h>

#include "edl/data/trace.h"

namespace edl::data {
namespace {

TEST(Partition, a_record_is_found_in_the_partition_that_holds_it) {
  PartitionList list;
  ASSERT_TRUE(list.add({"a", 0, 30, 0, 3}).ok());
  ASSERT_TRUE(list.add({"a", 30, 40, 3, 1}).ok());
  ASSERT_TRUE(list.add({"b", 0, 50, 4, 5}).ok());
  EXPECT_EQ(list.records(), 9U);
  const std::vector<std::size_t> places{0, 0, 0, 1, 2, 2, 2, 2, 2};
  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(list.find(i), places[i]) << i;
}

TEST(Partition, a_hole_or_an_overlap_is_refused) {
  PartitionList list;
  ASSERT_TRUE(list.add({"a", 0, 30, 0, 3}).ok());
  EXPECT_EQ(list.add({"b", 0, 10, 4, 1}).error().message,
            "the partition of b begins with record 4, but 3 are known before it");
  EXPECT_EQ(list.add({"b", 0, 10, 2, 1}).error().code, Code::kConflict);
  EXPECT_EQ(list.records(), 3U);
}

TEST(Partition, is_written_and_read_as_json) {
  const Partition partition{"logs/a", 10, 30, 7, 2};
  EXPECT_EQ(json_line(Json(partition)),
            R"({"count":2,"file":"logs/a","first":7,"from":10,"to":30})");
  EXPECT_EQ(partition_from(Json(partition)).value(), partition);
  EXPECT_FALSE(partition_from(Json(Partition{"a", 10, 10, 0, 1})).ok());
  EXPECT_FALSE(partition_from(Json(Partition{"a", 10, 20, 0, 0})).ok());
}

TEST(Partition, places_that_follow_each_other_are_one) {
  std::vector<Place> places;
  for (const Place& place : {Place{"a", 0, 5}, {"a", 5, 9}, {"b", 9, 12}, {"b", 20, 30}}) {
    add_place(places, place);
  }
  EXPECT_EQ(places, (std::vector<Place>{{"a", 0, 9}, {"b", 9, 12}, {"b", 20, 30}}));
}

TEST(Partition, a_line_of_the_trace_says_where_samples_lie) {
  TraceLine line;
  line.step = model::Step(3);
  line.worker = "w1";
  line.indices = {4, 5};
  line.where = {{"a", 10, 30}};
  EXPECT_EQ(trace_line(line), R"({"step":3,"epoch":0,"v":0,"generation":0,"worker":"w1",)"
                              R"("indices":[4,5],"where":[{"file":"a","from":10,"to":30}]})"
                              "\n");
  EXPECT_EQ(trace_line_from(trace_line(line))->where, line.where);
}

}  // namespace
}  // namespace edl::data
