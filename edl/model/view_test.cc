#include "edl/model/view.h"

#include <gtest/gtest.h>

namespace edl::model {
namespace {

std::vector<LogicalWorker> logical(std::initializer_list<std::uint32_t> list) {
  std::vector<LogicalWorker> result;
  for (const std::uint32_t v : list) result.emplace_back(v);
  return result;
}

View two_members() {
  View view;
  view.generation = Generation(7);
  view.members = {{"w1", "unix:/tmp/w1", "host-a", logical({0, 1})},
                  {"w4", "10.0.0.2:9000", "host-b", logical({2, 3})}};
  view.first_step = Step(41);
  view.epoch = Epoch(2);
  view.position = 96;
  view.batch = undivided_batch(64, 4);
  view.ramp = {.from = 1, .to = 1.5, .t0 = Step(40), .steps = 8};
  view.cause = Cause::kDeath;
  view.who = "w2";
  view.reason = "Worker w2 was killed (signal 9).";
  return view;
}

std::string refusal(const View& view) { return validate(view).error().message; }

TEST(View, reads_what_it_wrote) {
  const View view = two_members();
  const auto read = view_from(parse_json(json_line(view)).value());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), view);
}

TEST(View, is_written_with_the_fields_that_others_rely_on) {
  const Json json = two_members();
  EXPECT_EQ(json["members"][1]["rank"], 1);
  EXPECT_EQ(json_line(json["members"][1]["logical"]), "[2,3]");
  EXPECT_EQ(json["batch"]["global"], 64);
  EXPECT_EQ(json["cause"], "death");
  for (const char* field : {"generation", "first_step", "epoch", "position", "who", "reason"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
}

TEST(View, knows_ranks_and_carriers) {
  const View view = two_members();
  EXPECT_EQ(view.logical_workers(), 4u);
  EXPECT_EQ(view.rank_of("w4"), Rank(1));
  EXPECT_EQ(view.rank_of("w2"), std::nullopt);
  EXPECT_EQ(view.carrier_of(LogicalWorker(3)), Rank(1));
  EXPECT_EQ(view.carrier_of(LogicalWorker(4)), std::nullopt);
}

TEST(View, each_logical_worker_is_carried_once) {
  View view = two_members();
  view.members[1].logical = logical({1, 3});
  EXPECT_EQ(refusal(view),
            "view 7: logical worker 1 is carried by worker w1 and by worker w4; it must be carried "
            "once");
  view.members[1].logical = logical({2, 4});
  EXPECT_EQ(refusal(view),
            "view 7: worker w4 carries logical worker 4 of only 4, counted from 0; one is missing "
            "or there twice");
  view.members[1].logical = logical({3, 2});
  EXPECT_EQ(refusal(view), "view 7: the logical workers of worker w4 are not in order");
}

TEST(View, a_member_may_carry_nothing) {
  View view = two_members();
  view.members[0].logical = logical({0, 1, 2, 3});
  view.members[1].logical.clear();
  EXPECT_TRUE(validate(view).ok());
}

TEST(View, wrong_members_are_refused) {
  View view = two_members();
  view.members[1].id = "w1";
  EXPECT_EQ(refusal(view), "view 7: worker w1 is a member twice");
  view.members[1].id = "../w";
  EXPECT_NE(refusal(view).find("cannot be the name of a worker"), std::string::npos);
  view.members[0].logical = logical({0});
  view.members[1].logical.clear();
  EXPECT_EQ(refusal(view), "view 7: it has 2 members for 1 logical workers; it can have at most 1");
  view.members.clear();
  EXPECT_EQ(refusal(view), "view 7: it has no members");
}

TEST(View, wrong_numbers_are_refused) {
  View view = two_members();
  view.first_step = Step(0);
  EXPECT_EQ(refusal(view), "view 7: its first step is 0; steps count from 1");
  view = two_members();
  view.batch.global = 3;
  EXPECT_NE(refusal(view).find("cannot split a batch of 3 among 4"), std::string::npos);
  view = two_members();
  view.lr_factor = -1;
  EXPECT_FALSE(validate(view).ok());
  view = two_members();
  view.lane = Lane(1);
  EXPECT_FALSE(validate(view).ok());
}

TEST(View, a_rank_that_is_not_the_place_is_refused) {
  Json json = two_members();
  json["members"][1]["rank"] = 0;
  EXPECT_EQ(view_from(json).error().message,
            "view: field \"members\": member: rank 0 stands at place 1 of the list");
}

TEST(View, causes_are_a_closed_list) {
  for (int i = 0; i < 10; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(parse_cause(name(cause)).value(), cause);
  }
  EXPECT_EQ(name(Cause::kResume), "resume");
  EXPECT_FALSE(parse_cause("weather").ok());
}

}  // namespace
}  // namespace edl::model
