#include "edl/cli/progress.h"

#include <gtest/gtest.h>

namespace edl::cli {
namespace {

constexpr Time kStart{1h};

agent::OrderedJson step(std::uint64_t number) {
  return {{"event", "step"}, {"step", number}, {"epoch", 1u},
          {"loss", 0.25},    {"workers", 2u},  {"samples_per_second", 1000.4}};
}

agent::OrderedJson view() {
  return {{"event", "view"},   {"generation", 3u},     {"cause", "death"},
          {"first_step", 41u}, {"reason", "w2 died."}, {"members", {1, 2, 3}}};
}

TEST(Progress, a_terminal_shows_one_line_that_fits) {
  Progress progress({.columns = 80, .steps = 100});
  EXPECT_EQ(
      progress.take(step(50), kStart),
      "\r\x1b[K[#########.........] step 50/100  epoch 1  loss 0.25  2 workers  1000 samples/s");
  for (const std::size_t columns : {10u, 40u, 60u, 79u, 200u}) {
    EXPECT_LE(progress.line(columns).size(), columns);
  }
}

TEST(Progress, what_finds_no_room_goes_from_the_least_important) {
  Progress progress({.columns = 80, .steps = 100});
  progress.take({{"event", "metric"}, {"name", "accuracy"}, {"value", 0.5}}, kStart);
  progress.take({{"event", "metric"}, {"name", "top5"}, {"value", 0.75}}, kStart);
  progress.take(step(10), kStart);
  progress.take(step(20), kStart + 10s);
  EXPECT_EQ(progress.line(90),
            "[###...............] step 20/100  epoch 1  loss 0.25  2 workers  1000 samples/s  "
            "80 s left");
  EXPECT_EQ(progress.line(75),
            "[##..........] step 20/100  loss 0.25  2 workers  1000 samples/s  80 s left");
  EXPECT_EQ(progress.line(60), "[#.......] step 20/100  loss 0.25  2 workers  1000 samples/s");
  EXPECT_EQ(progress.line(40), "[###............] step 20/100  loss 0.25");
  EXPECT_EQ(progress.line(20), "[#.....] step 20/100");
}

TEST(Progress, is_redrawn_at_most_ten_times_a_second) {
  Progress progress({.columns = 80, .steps = 100});
  EXPECT_NE(progress.take(step(1), kStart), "");
  EXPECT_EQ(progress.take(step(2), kStart + 99ms), "");
  EXPECT_NE(progress.take(step(3), kStart + 100ms), "");
}

TEST(Progress, elsewhere_there_is_a_plain_line_every_few_seconds) {
  Progress progress({.steps = 100});
  EXPECT_EQ(progress.take(step(1), kStart),
            "step 1/100  epoch 1  loss 0.25  2 workers  1000 samples/s\n");
  EXPECT_EQ(progress.take(step(2), kStart + 1s), "");
  EXPECT_NE(progress.take(step(3), kStart + 5s), "");
}

TEST(Progress, tells_how_much_time_is_left) {
  Progress progress({.steps = 100});
  progress.take(step(10), kStart);
  progress.take(step(20), kStart + 10s);
  EXPECT_NE(progress.line(0).find("80 s left"), std::string::npos) << progress.line(0);
}

TEST(Progress, a_view_is_a_sentence_above_the_line) {
  Progress progress({.columns = 60, .steps = 100});
  EXPECT_EQ(progress.take(view(), kStart), "View 3 (death): 3 workers from step 41. w2 died.\n");
  progress.take(step(50), kStart);
  const std::string said = progress.take(view(), kStart);
  EXPECT_TRUE(said.starts_with("\r\x1b[KView 3 (death)")) << said;
  EXPECT_NE(said.find("\n\r\x1b[K[###....] step 50/100"), std::string::npos) << said;
}

TEST(Progress, metrics_are_shown_with_the_next_line) {
  Progress progress({});
  EXPECT_EQ(progress.take({{"event", "metric"}, {"name", "accuracy"}, {"value", 0.5}}, kStart), "");
  EXPECT_NE(progress.take(step(1), kStart).find("accuracy 0.5"), std::string::npos);
}

TEST(Progress, only_ends_that_nobody_asked_for_are_told) {
  const auto end = [](const char* exit_class) {
    return event_sentence({{"event", "worker"},
                           {"id", "w1"},
                           {"state", "exited"},
                           {"reason", "It ended."},
                           {"exit", {{"class", exit_class}}}});
  };
  EXPECT_EQ(end("killed"), "Worker w1 ended. It ended.");
  EXPECT_EQ(end("left"), "");
}

TEST(Progress, survives_events_without_their_fields) {
  Progress progress({.columns = 20, .steps = 0});
  for (const char* kind : {"step", "view", "metric", "worker", "started", "finished", "odd"}) {
    progress.take({{"event", kind}}, kStart);
  }
  EXPECT_EQ(progress.close().back(), '\n');
}

TEST(Progress, tells_what_workers_take_and_what_a_run_before_did) {
  agent::OrderedJson started{
      {"event", "started"}, {"job", "j"}, {"dir", "/j"}, {"wanted", 2u}, {"logical_workers", 8u}};
  started["memory"] = {{"total", 3u << 20}};
  EXPECT_EQ(event_sentence(started),
            "Job j in /j: 2 workers of up to 3.0 MiB for 8 logical workers.");
  started["reproducible"] = false;
  EXPECT_NE(event_sentence(started).find("not reproducible"), std::string::npos);
}

TEST(Progress, does_not_tell_steps_that_nobody_knows) {
  agent::OrderedJson plain = view();
  plain["first_step"] = nullptr;
  EXPECT_EQ(event_sentence(plain), "View 3 (death): 3 workers. w2 died.");
  EXPECT_EQ(event_sentence({{"event", "started"},
                            {"job", "j"},
                            {"dir", "/j"},
                            {"wanted", 2u},
                            {"logical_workers", nullptr}}),
            "Job j in /j: 2 workers.");
  EXPECT_EQ(event_sentence({{"event", "finished"}, {"state", "stopped"}, {"steps", nullptr}}),
            "The job stopped.");
}

}  // namespace
}  // namespace edl::cli
