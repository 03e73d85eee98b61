#include "edl/agent/picture.h"

#include <gtest/gtest.h>

namespace edl::agent {
namespace {

store::Fact put(const std::string& name, const std::string& value, store::Revision revision = 7) {
  return {store::Fact::Kind::kPut,
          {.key = "/edl/v1/jobs/a/" + name,
           .create_revision = revision,
           .mod_revision = revision,
           .version = 1,
           .value = value}};
}

store::Fact gone(const std::string& name) {
  return {store::Fact::Kind::kDeleted, {.key = "/edl/v1/jobs/a/" + name}};
}

JobPicture picture_of(std::initializer_list<store::Fact> facts) {
  JobPicture picture{.prefix = job_prefix("a")};
  for (const store::Fact& fact : facts) picture.take(fact);
  return picture;
}

TEST(JobPicture, is_what_the_keys_say) {
  const JobPicture picture =
      picture_of({put("wanted", R"({"workers":3,"stop":true})"), put("leader", R"({"id":"w2"})"),
                  put("result", R"({"state":"stopped"})"), put("members/w1", R"({"id":"w1"})")});
  EXPECT_EQ(picture.wanted->workers, 3u);
  EXPECT_TRUE(picture.wanted->stop);
  EXPECT_EQ(picture.leader_id(), "w2");
  EXPECT_EQ(picture.result["state"], "stopped");
  EXPECT_TRUE(picture.is_alive("w1"));
  EXPECT_EQ(picture.revision("wanted"), 7);
  EXPECT_EQ(picture.revision("view"), 0);
}

TEST(JobPicture, a_worker_whose_agent_says_exited_is_not_alive) {
  const JobPicture picture = picture_of({put("members/w1", R"({"state":"member"})"),
                                         put("members/w2", R"({"state":"exited"})"),
                                         put("members/w3", R"({})"), gone("members/w3")});
  EXPECT_EQ(picture.alive(), 1u);
}

TEST(JobPicture, a_bad_value_hides_nothing_else) {
  const JobPicture picture =
      picture_of({put("wanted", "{"), put("view", "[]"), put("members/w1", "7"),
                  put("leader", R"({"id":5})"), put("result", R"({"state":"finished"})")});
  EXPECT_FALSE(picture.wanted.has_value());
  EXPECT_FALSE(picture.view.has_value());
  EXPECT_EQ(picture.alive(), 0u);
  EXPECT_EQ(picture.leader_id(), "");
  EXPECT_EQ(picture.result["state"], "finished");
}

TEST(JobPicture, a_result_that_was_taken_back_is_none) {
  EXPECT_TRUE(picture_of({put("result", "{}"), gone("result")}).result.is_null());
}

TEST(Share, agents_that_joined_carry_theirs_in_order_and_the_first_has_the_rest) {
  const JobPicture picture =
      picture_of({put("wanted", R"({"workers":5})"), put("agents/b", R"({"workers":2})", 20),
                  put("agents/a", R"({"workers":2})", 30)});
  EXPECT_EQ(share_of(picture, "b"), 2u);
  EXPECT_EQ(share_of(picture, "a"), 2u);
  EXPECT_EQ(share_of(picture, ""), 1u);
  EXPECT_EQ(share_of(picture, "stranger"), 0u);
}

TEST(Share, never_adds_up_to_more_than_is_wanted) {
  const JobPicture picture =
      picture_of({put("wanted", R"({"workers":3})"), put("agents/b", R"({"workers":2})", 20),
                  put("agents/a", R"({"workers":2})", 30)});
  EXPECT_EQ(share_of(picture, "b"), 2u);
  EXPECT_EQ(share_of(picture, "a"), 1u);
  EXPECT_EQ(share_of(picture, ""), 0u);
}

}  // namespace
}  // namespace edl::agent
