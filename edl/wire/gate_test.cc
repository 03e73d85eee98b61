#include "edl/wire/gate.h"

#include <gtest/gtest.h>

namespace edl::wire {
namespace {

using model::Generation;

Frame frame_of(std::uint64_t generation, std::uint64_t number) {
  Frame frame;
  frame.header.job = job_tag("job");
  frame.header.generation = Generation(generation);
  frame.header.first = number;
  return frame;
}

std::vector<std::uint64_t> numbers(const std::vector<Frame>& frames) {
  std::vector<std::uint64_t> out;
  for (const Frame& frame : frames) out.push_back(frame.header.first);
  return out;
}

using Numbers = std::vector<std::uint64_t>;

TEST(Gate, shows_frames_of_this_generation_and_of_none) {
  Gate gate(job_tag("job"), model::Lane(0));
  gate.enter(Generation(5));
  EXPECT_EQ(numbers(gate.admit(frame_of(5, 1)).value()), Numbers{1});
  EXPECT_EQ(numbers(gate.admit(frame_of(0, 2)).value()), Numbers{2});
}

TEST(Gate, drops_older_generations) {
  Gate gate(job_tag("job"), model::Lane(0));
  gate.enter(Generation(5));
  EXPECT_EQ(numbers(gate.admit(frame_of(4, 1)).value()), Numbers{});
  EXPECT_EQ(gate.dropped(), 1u);
}

TEST(Gate, holds_newer_generations_until_they_begin) {
  Gate gate(job_tag("job"), model::Lane(0));
  gate.enter(Generation(5));
  for (const std::uint64_t generation : {7u, 6u, 7u, 9u}) {
    EXPECT_EQ(numbers(gate.admit(frame_of(generation, 10 + generation)).value()), Numbers{});
  }
  EXPECT_EQ(numbers(gate.enter(Generation(7))), (Numbers{17, 17}));
  EXPECT_EQ(gate.dropped(), 1u) << "generation 6 never began here";
  EXPECT_EQ(gate.held(), 1u);
  EXPECT_EQ(numbers(gate.enter(Generation(9))), Numbers{19});
}

TEST(Gate, holds_only_so_much) {
  Gate gate(job_tag("job"), model::Lane(0), 10 * kHeaderBytes);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(gate.admit(frame_of(1, 1)).ok());
  EXPECT_EQ(gate.admit(frame_of(1, 1)).error().code, Code::kExhausted);
}

TEST(Gate, refuses_other_jobs_and_lanes) {
  Gate gate(job_tag("other"), model::Lane(0));
  EXPECT_EQ(gate.admit(frame_of(0, 1)).error().message, "a frame of another job");
  Gate lane(job_tag("job"), model::Lane(1));
  EXPECT_EQ(lane.admit(frame_of(0, 1)).error().message, "a frame of lane 0, this is 1");
}

}  // namespace
}  // namespace edl::wire
