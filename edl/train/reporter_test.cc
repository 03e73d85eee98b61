#include "edl/train/reporter.h"

#include <gtest/gtest.h>

namespace edl::train {
namespace {

StepReport of_step(std::uint64_t step, std::uint64_t generation) {
  StepReport report;
  report.step = model::Step(step);
  report.generation = model::Generation(generation);
  return report;
}

std::vector<std::uint64_t> steps_in(const std::vector<Report>& told) {
  std::vector<std::uint64_t> steps;
  for (const Report& one : told) steps.push_back(json_of(one).at("step").get<std::uint64_t>());
  return steps;
}

using Steps = std::vector<std::uint64_t>;

TEST(Reporter, nothing_is_told_before_it_is_stable) {
  Reporter reporter;
  reporter.tell_from({}, {});
  reporter.add(of_step(1, 1));
  reporter.add(of_step(2, 1));
  EXPECT_EQ(steps_in(reporter.take()), Steps());
  reporter.on_stable(model::Step(1));
  EXPECT_EQ(steps_in(reporter.take()), Steps({1}));
  reporter.forget_after(model::Step(1));
  reporter.add(of_step(2, 2));
  reporter.on_stable(model::Step(2));
  const std::vector<Report> told = reporter.take();
  ASSERT_EQ(steps_in(told), Steps({2}));
  EXPECT_EQ(json_of(told[0]).at("generation"), 2);
}

TEST(Reporter, a_view_is_told_at_once_and_again_with_its_cost) {
  Reporter reporter;
  reporter.tell_from({}, {});
  model::View view;
  view.generation = model::Generation(4);
  reporter.add(ViewReport{.at = 7.5, .view = view});
  reporter.add(ViewReport{.at = 8.5, .view = view, .cost = {{"pause_ms", 12.5}}});
  const std::vector<Report> told = reporter.take();
  ASSERT_EQ(told.size(), 2u);
  const Json first = json_of(told[0]);
  EXPECT_EQ(first.at("event"), "view");
  EXPECT_EQ(first.at("generation"), 4);
  EXPECT_EQ(first.at("at"), 7.5);
  EXPECT_FALSE(first.contains("pause_ms"));
  EXPECT_EQ(json_of(told[1]).at("pause_ms"), 12.5);
}

TEST(Reporter, who_goes_on_telling_begins_where_the_other_ended) {
  Reporter reporter;
  for (std::uint64_t step = 1; step <= 5; ++step) reporter.add(of_step(step, 1));
  reporter.on_stable(model::Step(5));
  EXPECT_EQ(steps_in(reporter.take()), Steps());
  reporter.tell_from(model::Step(4), model::Generation(1));
  EXPECT_EQ(steps_in(reporter.take()), Steps({4, 5}));
}

TEST(Reporter, what_was_lost_with_all_members_is_not_told_by_who_still_knows_it) {
  Reporter reporter;
  for (std::uint64_t step = 1; step <= 9; ++step) reporter.add(of_step(step, 1));
  reporter.on_stable(model::Step(9));
  reporter.forget_after(model::Step(6));  // the checkpoint
  reporter.tell_from(model::Step(5), model::Generation(3));
  EXPECT_EQ(steps_in(reporter.take()), Steps({5, 6}));
  reporter.add(of_step(7, 3));
  reporter.on_stable(model::Step(7));
  EXPECT_EQ(steps_in(reporter.take()), Steps({7}));
}

TEST(Reporter, who_got_the_state_of_others_tells_only_what_comes_after) {
  Reporter reporter;
  for (std::uint64_t step = 1; step <= 9; ++step) reporter.add(of_step(step, 1));
  reporter.on_stable(model::Step(9));
  reporter.add_own(model::Step(8), {{"event", "checkpoint"}, {"step", 8}});
  reporter.restart_at(model::Step(12));
  reporter.add(of_step(13, 4));
  reporter.on_stable(model::Step(13));
  reporter.tell_from(model::Step(5), model::Generation(3));
  EXPECT_EQ(steps_in(reporter.take()), Steps({8, 13}));
}

TEST(Reporter, a_fact_of_its_own_is_told_once_however_old_its_step_is) {
  Reporter early;
  early.tell_from(model::Step(49), model::Generation(2));
  early.on_stable(model::Step(48));
  early.add_own(model::Step(48), {{"event", "checkpoint"}, {"step", 48}});
  EXPECT_EQ(steps_in(early.take()), Steps({48}));
  early.tell_from(model::Step(60), model::Generation(3));
  EXPECT_EQ(steps_in(early.take()), Steps());

  Reporter late;
  late.on_stable(model::Step(48));
  late.add_own(model::Step(48), {{"event", "checkpoint"}, {"step", 48}});
  late.tell_from(model::Step(49), model::Generation(2));
  EXPECT_EQ(steps_in(late.take()), Steps({48}));
}

}  // namespace
}  // namespace edl::train
