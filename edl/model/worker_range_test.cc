#include "edl/model/worker_range.h"

#include <gtest/gtest.h>

namespace edl::model {
namespace {

TEST(WorkerRange, one_number_is_the_maximum_and_the_start) {
  const WorkerRange range = parse_workers("8").value();
  EXPECT_EQ(range, (WorkerRange{1, 8, 8}));
  EXPECT_EQ(range.first_wanted(2), 8u);
  EXPECT_EQ(workers_text(range), "8");
}

TEST(WorkerRange, two_numbers_start_with_the_cores) {
  const WorkerRange range = parse_workers("2:8").value();
  EXPECT_EQ(range, (WorkerRange{2, 8, std::nullopt}));
  EXPECT_EQ(range.first_wanted(1), 2u);
  EXPECT_EQ(range.first_wanted(4), 4u);
  EXPECT_EQ(range.first_wanted(64), 8u);
}

TEST(WorkerRange, twice_the_same_number_is_rigid) {
  EXPECT_EQ(parse_workers("4:4").value(), (WorkerRange{4, 4, 4}));
}

TEST(WorkerRange, what_is_no_range_is_refused) {
  for (const char* wrong : {"", "0", "-1", "x", "1:", ":4", "1:2:3", "2 : 4", "4097", "0:4", "1e3",
                            "99999999999999999999", "+4"}) {
    EXPECT_FALSE(parse_workers(wrong).ok()) << wrong;
  }
  EXPECT_EQ(parse_workers("8:2").error().message,
            "workers 8:2: the minimum is above the maximum. Write 2:8 or 8:8.");
}

TEST(WorkerRange, a_maximum_above_the_logical_workers_is_cut_with_a_sentence) {
  const FittedWorkers fitted = fit_workers(parse_workers("2:12").value(), 8).value();
  EXPECT_EQ(fitted.range, (WorkerRange{2, 8, std::nullopt}));
  EXPECT_EQ(fitted.note, "The maximum of 12 workers is cut to 8: the job has 8 logical workers.");
  EXPECT_EQ(fit_workers(parse_workers("2:8").value(), 8)->note, "");
}

TEST(WorkerRange, a_wish_above_the_logical_workers_is_refused) {
  EXPECT_EQ(
      fit_workers(parse_workers("12").value(), 8).error().message,
      "cannot use 12 workers (the number to start with): the job has 8 logical workers and so "
      "room for at most 8 workers. Ask for fewer; more logical workers are another result.");
  EXPECT_FALSE(fit_workers(parse_workers("9:12").value(), 8).ok());
  EXPECT_FALSE(fit_workers({2, 4, 9}, 8).ok());
}

TEST(WorkerRange, the_start_lies_within_the_range) {
  EXPECT_FALSE(fit_workers({2, 4, 1}, 8).ok());
  EXPECT_EQ(fit_workers({2, 4, 5}, 8).error().message,
            "cannot start with 5 workers: the range is 2:4. Start within it.");
  EXPECT_TRUE(fit_workers({2, 4, 3}, 8).ok());
}

}  // namespace
}  // namespace edl::model
