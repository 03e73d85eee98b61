#include "edl/agent/event_log.h"

#include <gtest/gtest.h>

namespace edl::agent {
namespace {

constexpr WallTime kNow{1'700'000'000s};

Json step(std::uint64_t number, double at, std::uint64_t position = 0) {
  return {{"event", "step"}, {"step", number},       {"at", at},
          {"loss", 0.5},     {"position", position}, {"samples", 64}};
}

Json view(std::uint64_t generation, const char* cause = "join", std::uint64_t first_step = 1) {
  return {
      {"event", "view"}, {"generation", generation}, {"cause", cause}, {"first_step", first_step}};
}

bool told(EventLog& log, const Json& event) { return log.take(event, kNow).has_value(); }

TEST(EventLog, a_line_begins_with_event_and_time_and_keeps_the_documented_order) {
  EventLog log;
  const Json event{{"event", "checkpoint"}, {"write_ms", 2},    {"step", 4},
                   {"path", "p"},           {"at", 12.3456789}, {"more", true}};
  EXPECT_EQ(event_line(*log.take(event, kNow)),
            "{\"event\":\"checkpoint\",\"time\":12.345679,\"step\":4,\"path\":\"p\",\"write_ms\":2,"
            "\"more\":true}\n");
}

TEST(EventLog, an_event_without_a_time_happens_now_with_microseconds) {
  EventLog log;
  const auto line = log.take({{"event", "failed"}, {"reason", "r"}}, kNow + 123456us);
  EXPECT_EQ(event_line(*line),
            "{\"event\":\"failed\",\"time\":1700000000.123456,\"reason\":\"r\"}\n");
}

TEST(EventLog, tells_at_most_ten_steps_a_second) {
  EventLog log;
  int count = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    count += told(log, step(i, 100 + 0.001 * static_cast<double>(i)));
  }
  EXPECT_EQ(count, 10);
  EXPECT_EQ(log.report_from().step, 1001u);
}

TEST(EventLog, tells_the_last_step_of_an_epoch_always) {
  EventLog log({.samples = 128});
  EXPECT_TRUE(told(log, step(1, 100)));
  EXPECT_TRUE(told(log, step(2, 100.001, 64)));
  EXPECT_FALSE(told(log, step(3, 100.002)));
}

TEST(EventLog, tells_the_last_step_of_the_job_always) {
  EventLog log({.steps = 2});
  EXPECT_TRUE(told(log, step(1, 100)));
  EXPECT_TRUE(told(log, step(2, 100.001)));
  EXPECT_FALSE(told(log, step(3, 100.002)));
}

TEST(EventLog, tells_all_steps_when_asked) {
  EventLog log({.all_steps = true});
  EXPECT_TRUE(told(log, step(1, 100)));
  EXPECT_TRUE(told(log, step(2, 100)));
}

TEST(EventLog, tells_no_step_twice) {
  EventLog log({.all_steps = true});
  EXPECT_TRUE(told(log, step(5, 100)));
  EXPECT_FALSE(told(log, step(5, 101)));
  EXPECT_FALSE(told(log, step(4, 101)));
  EXPECT_TRUE(told(log, step(6, 101)));
}

TEST(EventLog, tells_steps_again_after_a_resume_went_back) {
  EventLog log({.all_steps = true});
  told(log, view(1, "start"));
  for (std::uint64_t i = 1; i <= 9; ++i) told(log, step(i, 100));
  told(log, view(2, "death", 9));
  EXPECT_FALSE(told(log, step(9, 101)));
  EXPECT_TRUE(told(log, view(3, "resume", 6)));
  EXPECT_FALSE(told(log, step(5, 102)));
  EXPECT_TRUE(told(log, step(6, 102)));
}

TEST(EventLog, steps_that_were_told_and_come_again_count_as_lost) {
  EventLog log({.all_steps = true});
  for (std::uint64_t i = 1; i <= 9; ++i) told(log, step(i, 100));
  told(log, view(3, "resume", 6));
  Json effect = view(3, "resume", 6);
  effect["pause_ms"] = 3;
  effect["steps_lost"] = 2;  // of the ledgers
  EXPECT_EQ((*log.take(effect, kNow))["steps_lost"], 4);
  told(log, view(4, "death", 7));
  effect["generation"] = 4;
  effect["steps_lost"] = 0;
  EXPECT_EQ((*log.take(effect, kNow))["steps_lost"], 0);
}

TEST(EventLog, tells_a_view_once_when_published_and_once_with_its_effect) {
  EventLog log;
  Json effect = view(2);
  effect["pause_ms"] = 3;
  EXPECT_TRUE(told(log, view(2)));
  EXPECT_FALSE(told(log, view(2)));
  EXPECT_TRUE(told(log, effect));
  EXPECT_FALSE(told(log, effect));
  EXPECT_FALSE(told(log, view(1)));
  EXPECT_EQ(log.report_from().generation, 2u);
}

TEST(EventLog, tells_metrics_checkpoints_worker_states_and_the_end_once) {
  EventLog log;
  const Json metric{{"event", "metric"}, {"step", 3}, {"name", "accuracy"}, {"value", 1}};
  const Json worker{{"event", "worker"}, {"id", "w1"}, {"state", "member"}, {"reason", ""}};
  const Json checkpoint{{"event", "checkpoint"}, {"step", 3}};
  for (const Json& event : {metric, worker, checkpoint}) {
    EXPECT_TRUE(told(log, event)) << event;
    EXPECT_FALSE(told(log, event)) << event;
  }
  EXPECT_TRUE(told(log, {{"event", "finished"}}));
  EXPECT_FALSE(told(log, {{"event", "failed"}}));
}

TEST(EventLog, goes_on_behind_what_an_earlier_run_told) {
  EventLog log({.all_steps = true});
  log.remember(view(4));
  log.remember(step(7, 100));
  log.remember({{"event", "finished"}});
  EXPECT_FALSE(told(log, step(7, 200)));
  EXPECT_FALSE(told(log, view(4)));
  EXPECT_TRUE(told(log, step(8, 200)));
  EXPECT_TRUE(told(log, {{"event", "finished"}}));
}

TEST(EventLog, what_is_no_event_is_not_told) {
  EventLog log;
  for (const Json& odd : {Json(), Json(7), Json::object(), Json{{"event", 3}}}) {
    EXPECT_FALSE(told(log, odd)) << odd;
  }
  EXPECT_TRUE(told(log, {{"event", "step"}, {"step", 1}, {"at", "soon"}}));
  EXPECT_FALSE(told(log, {{"event", "step"}, {"step", "many"}}));
}

}  // namespace
}  // namespace edl::agent
