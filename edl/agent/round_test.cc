#include "edl/agent/round.h"

#include <gtest/gtest.h>

#include <map>

namespace edl::agent {
namespace {

Round two_agents() {
  return make_round({.generation = model::Generation(3),
                     .groups = {{"", "here", {"w4", "w5"}}, {"c0ffee", "there", {"w6"}}},
                     .master_host = "10.0.0.1",
                     .master_port = 29500,
                     .cause = model::Cause::kJoin,
                     .who = "edl join",
                     .reason = "there joined."});
}

std::map<std::string, std::string> environment_of(const Round& round, const std::string& worker) {
  const Environment list = round_environment(round, worker, "job", "/jobs/job");
  return {list.begin(), list.end()};
}

TEST(Round, reads_what_it_wrote_and_is_a_view) {
  const Round round = two_agents();
  const Json json = round_json(round);
  EXPECT_EQ(round_from(json).value(), round);
  EXPECT_EQ(model::view_from(json).value().members.size(), 3u);
}

TEST(Round, groups_that_are_not_its_members_are_refused) {
  Json json = round_json(two_agents());
  json["groups"][1]["workers"] = {"w9"};
  EXPECT_FALSE(round_from(json).ok());
  json["groups"][1]["workers"] = Json::array();
  EXPECT_FALSE(round_from(json).ok());
  json = round_json(two_agents());
  json.erase("master");
  EXPECT_FALSE(round_from(json).ok());
  json = round_json(two_agents());
  json["generation"] = 0;
  EXPECT_FALSE(round_from(json).ok());
}

TEST(Round, a_worker_finds_its_place_in_its_environment) {
  auto first = environment_of(two_agents(), "w4");
  EXPECT_EQ(first["RANK"], "0");
  EXPECT_EQ(first["LOCAL_RANK"], "0");
  EXPECT_EQ(first["LOCAL_WORLD_SIZE"], "2");
  auto last = environment_of(two_agents(), "w6");
  EXPECT_EQ(last["EDL_RANK"], "2");
  EXPECT_EQ(last["RANK"], "2");
  EXPECT_EQ(last["EDL_SIZE"], "3");
  EXPECT_EQ(last["WORLD_SIZE"], "3");
  EXPECT_EQ(last["EDL_GENERATION"], "3");
  EXPECT_EQ(last["TORCHELASTIC_RESTART_COUNT"], "2");
  EXPECT_EQ(last["LOCAL_RANK"], "0");
  EXPECT_EQ(last["LOCAL_WORLD_SIZE"], "1");
  EXPECT_EQ(last["GROUP_RANK"], "1");
  EXPECT_EQ(last["GROUP_WORLD_SIZE"], "2");
  EXPECT_EQ(last["MASTER_ADDR"], "10.0.0.1");
  EXPECT_EQ(last["MASTER_PORT"], "29500");
}

TEST(Round, the_event_does_not_say_what_nobody_knows) {
  const Json event = round_event(two_agents());
  EXPECT_EQ(event["event"], "view");
  EXPECT_EQ(event["generation"], 3u);
  EXPECT_EQ(event["members"][2]["rank"], 2u);
  EXPECT_TRUE(event["first_step"].is_null());
  EXPECT_TRUE(event["batch"].is_null());
}

TEST(Round, guests_have_what_they_lend_and_the_first_agent_the_rest) {
  using Shares = std::vector<std::uint32_t>;
  EXPECT_EQ(split_among(3, {}), Shares{3});
  EXPECT_EQ(split_among(5, {{"a", 2}}), (Shares{3, 2}));
  EXPECT_EQ(split_among(5, {{"a", 2}, {"b", 2}}), (Shares{1, 2, 2}));
  EXPECT_EQ(split_among(2, {{"a", 2}}), (Shares{1, 1})) << "rank 0 is at the first agent";
  EXPECT_EQ(split_among(1, {{"a", 2}}), (Shares{1, 0}));
}

}  // namespace
}  // namespace edl::agent
