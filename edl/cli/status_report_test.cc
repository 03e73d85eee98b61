#include "edl/cli/status_report.h"

#include <gtest/gtest.h>

#include "edl/cli/scale_plan.h"

namespace edl::cli {
namespace {

store::Fact put(const std::string& name, const Json& value) {
  return {store::Fact::Kind::kPut,
          {.key = "/edl/v1/jobs/a/" + name, .mod_revision = 3, .value = json_line(value)}};
}

agent::JobPicture running() {
  agent::JobPicture picture{.prefix = agent::job_prefix("a")};
  model::View view;
  view.generation = model::Generation(4);
  view.members = {{"w2", "", "h", {model::LogicalWorker(0), model::LogicalWorker(1)}},
                  {"w1", "", "h", {model::LogicalWorker(2), model::LogicalWorker(3)}}};
  view.first_step = model::Step(9);
  view.batch = model::undivided_batch(64, 4);
  view.reason = "w2 joined.";
  picture.take(put("spec", {{"logical_workers", 4u}, {"min", 1u}, {"max", 3u}, {"steps", 40u}}));
  picture.take(put("wanted", {{"workers", 2u}}));
  picture.take(put("leader", {{"id", "w1"}}));
  picture.take(put("view", view));
  picture.take(put("progress", {{"step", 10u}, {"epoch", 1u}, {"position", 64u}, {"loss", 0.5}}));
  for (const char* id : {"w1", "w2", "w3"}) {
    picture.take(put(text("members/", id), {{"pid", 7}, {"host", "h"}, {"state", "joining"}}));
  }
  picture.take(put("members/w0", {{"state", "exited"}}));
  return picture;
}

agent::OrderedJson report_of(const agent::JobPicture& picture) {
  return status_report({.job = "a", .picture = picture, .urls = {"unix:/s"}});
}

// Step, epoch and position.
std::string where(const agent::OrderedJson& report) {
  return text(report["step"].dump(), " ", report["epoch"].dump(), " ", report["position"].dump());
}

TEST(Status, of_a_running_job_comes_from_its_keys) {
  const auto report = report_of(running());
  EXPECT_EQ(report["state"], "running");
  EXPECT_EQ(report["reason"], "w2 joined.");
  EXPECT_EQ(report["generation"], 4);
  EXPECT_EQ(report["progress"], 0.25);
  EXPECT_EQ(where(report), "10 1 64");
  EXPECT_EQ(report["useful_sizes"], agent::OrderedJson::parse("[1,2,4]"));
  EXPECT_EQ(report["leader"], "w1");
  ASSERT_EQ(report["workers"].size(), 3u) << "one has ended";
  EXPECT_EQ(report["workers"][0]["id"], "w2");
  EXPECT_EQ(report["workers"][0]["rank"], 0);
  EXPECT_EQ(report["workers"][0]["state"], "member");
  EXPECT_EQ(report["workers"][1]["leader"], true);
  EXPECT_EQ(report["workers"][2]["state"], "joining");
  EXPECT_TRUE(report["workers"][2]["rank"].is_null());
}

TEST(Status, says_when_a_run_had_other_numbers) {
  agent::JobPicture picture = running();
  EXPECT_TRUE(report_of(picture)["reproducible"].is_null());
  picture.take(put("spec", {{"logical_workers", 4u}, {"reproducible", false}}));
  EXPECT_EQ(report_of(picture)["reproducible"], false);
  EXPECT_NE(status_text(report_of(picture)).find("not reproducible"), std::string::npos);
  JobStory story;
  story.take({{"event", "started"}, {"reproducible", true}});
  EXPECT_EQ(status_report({.job = "a", .story = story})["reproducible"], true);
}

TEST(Status, state_follows_what_is_wanted_and_the_result) {
  agent::JobPicture picture = running();
  picture.take(put("progress", {{"step", 10u}, {"state", "waiting"}, {"reason", "too few"}}));
  EXPECT_EQ(report_of(picture)["state"], "waiting");
  EXPECT_EQ(report_of(picture)["reason"], "too few");
  picture.take(put("wanted", {{"workers", 2u}, {"stop", true}}));
  EXPECT_EQ(report_of(picture)["state"], "stopping");
  picture.take(
      put("result", {{"state", "stopped"}, {"step", 12u}, {"epoch", 1u}, {"position", 8u}}));
  EXPECT_EQ(report_of(picture)["state"], "stopped");
  EXPECT_EQ(where(report_of(picture)), "12 1 8");
  EXPECT_EQ(report_of({.prefix = "/"})["state"], "starting");
}

TEST(Status, of_a_job_that_runs_no_more_comes_from_its_events) {
  StatusFacts facts{.job = "a"};
  facts.story.take({{"event", "started"}, {"wanted", 2u}});
  facts.story.take({{"event", "step"}, {"step", 7u}, {"loss", 0.5}});
  EXPECT_EQ(status_report(facts)["state"], "stopped");
  EXPECT_EQ(status_report(facts)["step"], 7);
  facts.story.take({{"event", "finished"}, {"state", "finished"}, {"steps", 9u}});
  EXPECT_EQ(status_report(facts)["state"], "finished");
  EXPECT_EQ(status_report(facts)["step"], 9);
  facts.story.take({{"event", "started"}, {"wanted", 3u}});
  EXPECT_EQ(status_report(facts)["state"], "stopped") << "it was resumed and killed";
  facts.story.take({{"event", "failed"}, {"reason", "r"}});
  EXPECT_EQ(status_report(facts)["state"], "failed");
  facts.problem = "cannot reach the store";
  EXPECT_EQ(status_report(facts)["state"], "waiting");
}

TEST(Status, says_where_the_next_step_begins_and_never_mixes_two) {
  StatusFacts facts{.job = "a", .launch = agent::Launch()};
  facts.launch->samples = 1437;
  facts.story.take(
      {{"event", "step"}, {"step", 7u}, {"epoch", 1u}, {"position", 64u}, {"samples", 64u}});
  EXPECT_EQ(where(status_report(facts)), "7 1 128");
  facts.story.take(
      {{"event", "step"}, {"step", 46u}, {"epoch", 1u}, {"position", 1408u}, {"samples", 29u}});
  EXPECT_EQ(where(status_report(facts)), "46 2 0");
  facts.picture = running();
  EXPECT_EQ(where(status_report(facts)), "10 1 64");
  facts.picture->take(put("result", {{"state", "failed"}, {"step", 4u}}));  // of a checkpoint
  EXPECT_EQ(where(status_report(facts)), "10 1 64");
  facts.picture.reset();
  Json end{{"event", "finished"}, {"steps", 92u}, {"epochs", 4u}, {"position", 0u}};
  facts.story.take(end);
  EXPECT_EQ(where(status_report(facts)), "92 4 0");
}

TEST(Status, an_end_that_only_the_events_tell_reads_like_the_result_in_the_store) {
  JobStory story;
  story.take({{"event", "started"}});
  EXPECT_TRUE(story.result().is_null());
  story.take({{"event", "finished"}, {"state", "stopped"}, {"steps", 7u}, {"epochs", 2u}});
  EXPECT_EQ(story.result()["state"], "stopped");
  EXPECT_EQ(story.result()["step"], 7);
  EXPECT_EQ(story.result()["epoch"], 2);
  story.take({{"event", "started"}});
  EXPECT_TRUE(story.result().is_null()) << "it was resumed";
  story.take({{"event", "failed"}, {"reason", "too many crashes"}});
  EXPECT_EQ(story.result()["state"], "failed");
}

TEST(Status, has_every_field_whatever_is_known) {
  const auto report = status_report({.job = "a"});
  for (const char* name :
       {"job",   "state",      "reason", "generation",         "step",         "steps",
        "epoch", "position",   "loss",   "samples_per_second", "seconds_left", "progress",
        "min",   "max",        "wanted", "logical_workers",    "useful_sizes", "leader",
        "store", "checkpoint", "workers"}) {
    EXPECT_TRUE(report.contains(name)) << name;
  }
  EXPECT_TRUE(status_text(report).starts_with("job a: stopped."));
}

TEST(Scale, is_accepted_within_the_limits_with_a_hint_when_it_is_no_faster) {
  const ScalePlan plan = plan_scale("a", running(), 3);
  EXPECT_TRUE(plan.accepted);
  EXPECT_EQ(plan.from, 2u);
  EXPECT_EQ(plan.to, 3u);
  EXPECT_FALSE(plan.predicted_pause_ms.has_value());
  EXPECT_NE(plan.reason.find("3 are no faster than 2"), std::string::npos) << plan.reason;
  EXPECT_EQ(plan_scale("a", running(), 2).predicted_pause_ms, 0);
}

TEST(Scale, predicts_what_the_leader_expects) {
  agent::JobPicture picture = running();
  picture.take(put("progress", {{"step", 4u}, {"planned_pause_ms", 12.5}}));
  const ScalePlan plan = plan_scale("a", picture, 1);
  EXPECT_EQ(plan.predicted_pause_ms, 12.5);
  EXPECT_NE(plan.reason.find("Training pauses for about 13 ms."), std::string::npos) << plan.reason;
  EXPECT_NE(plan.reason.find("parts in a row"), std::string::npos) << plan.reason;
}

TEST(Scale, refusals_name_the_limit) {
  const auto reason = [](const agent::JobPicture& picture, std::uint64_t workers) {
    const ScalePlan plan = plan_scale("a", picture, workers);
    EXPECT_FALSE(plan.accepted);
    return plan.reason;
  };
  EXPECT_NE(reason(running(), 5).find("4 logical workers"), std::string::npos);
  EXPECT_NE(reason(running(), 4).find("its limit is 3"), std::string::npos);
  EXPECT_NE(reason(running(), 0).find("its minimum is 1"), std::string::npos);
  EXPECT_NE(reason(running(), ~std::uint64_t{0}).find("logical workers"), std::string::npos);
  agent::JobPicture ended = running();
  ended.take(put("result", {{"state", "finished"}}));
  EXPECT_NE(reason(ended, 3).find("it has ended"), std::string::npos);
}

TEST(Status, of_a_plain_command_has_no_logical_workers) {
  agent::JobPicture picture = running();
  picture.take(put("spec", {{"mode", "stop-resume"}, {"logical_workers", 3u}, {"max", 3u}}));
  const auto report = report_of(picture);
  EXPECT_EQ(report["mode"], "stop-resume");
  EXPECT_TRUE(report["logical_workers"].is_null());
  EXPECT_TRUE(report["useful_sizes"].empty());
  EXPECT_EQ(status_text(report).find("loss"), std::string::npos);
  EXPECT_NE(status_text(report).find("rank 0"), std::string::npos);
}

TEST(ScalePlan, of_a_plain_command_knows_the_range_and_what_happens) {
  agent::JobPicture picture = running();
  picture.take(
      put("spec", {{"mode", "stop-resume"}, {"logical_workers", 3u}, {"min", 1u}, {"max", 70u}}));
  const ScalePlan plan = plan_scale("a", picture, 67);
  EXPECT_TRUE(plan.accepted);
  EXPECT_EQ(plan.reason,
            "Job a goes from 2 to 67 workers. All workers are stopped, then 67 are started.");
  EXPECT_NE(plan_scale("a", picture, 71).reason.find("its limit is 70"), std::string::npos);
}

}  // namespace
}  // namespace edl::cli
