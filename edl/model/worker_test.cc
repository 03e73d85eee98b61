#include "edl/model/worker.h"

#include <gtest/gtest.h>

#include "edl/model/node.h"

namespace edl::model {
namespace {

TEST(Worker, reads_what_it_wrote) {
  Worker worker{.id = "w3",
                .pid = 4711,
                .host = "host-a",
                .rank = Rank(2),
                .state = WorkerState::kMember,
                .reason = "Joined in view 4.",
                .exit = std::nullopt};
  EXPECT_EQ(worker_from(Json(worker)).value(), worker);
  EXPECT_FALSE(Json(worker).contains("exit"));
  worker.rank.reset();
  worker.state = WorkerState::kExited;
  worker.exit = Exit{.code = 0, .signal = 9, .exit_class = ExitClass::kKilled};
  EXPECT_EQ(worker_from(Json(worker)).value(), worker);
  EXPECT_EQ(json_line(Json(worker)["exit"]), R"({"class":"killed","code":0,"signal":9})");
}

TEST(Worker, states_and_classes_are_closed_lists) {
  for (int i = 0; i < 7; ++i) {
    const auto state = static_cast<WorkerState>(i);
    EXPECT_EQ(parse_worker_state(name(state)).value(), state);
  }
  for (int i = 0; i < 5; ++i) {
    const auto exit_class = static_cast<ExitClass>(i);
    EXPECT_EQ(parse_exit_class(name(exit_class)).value(), exit_class);
  }
  EXPECT_EQ(name(WorkerState::kLost), "lost");
  EXPECT_EQ(name(ExitClass::kOom), "oom");
  EXPECT_FALSE(parse_worker_state("dead").ok());
}

TEST(Worker, an_id_that_could_leave_its_directory_is_refused) {
  Json json = Worker{.id = "w3", .pid = 1, .host = "h", .rank = {}, .reason = "", .exit = {}};
  json["id"] = "../../etc/passwd";
  EXPECT_FALSE(worker_from(json).ok());
}

TEST(Node, reads_what_it_wrote) {
  const Node node{
      .name = "n1", .slots = 4, .kind = "cpu", .domain = "rack-2", .address = "10.0.0.1"};
  EXPECT_EQ(node_from(Json(node)).value(), node);
  EXPECT_EQ(node_from(parse_json(R"({"node":"n2","slots":8})").value())->slots, 8u);
  EXPECT_FALSE(node_from(parse_json(R"({"node":"","slots":8})").value()).ok());
}

}  // namespace
}  // namespace edl::model
