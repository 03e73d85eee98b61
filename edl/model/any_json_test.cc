// Every reader meets every kind of wrong JSON: it may refuse, it may not crash.
#include <gtest/gtest.h>

#include <functional>

#include "edl/base/random.h"
#include "edl/model/job.h"
#include "edl/model/ledger_record.h"
#include "edl/model/node.h"
#include "edl/model/position.h"
#include "edl/model/record.h"
#include "edl/model/view.h"
#include "edl/model/worker.h"

namespace edl::model {
namespace {

struct Reader {
  const char* name;
  Json good;
  std::function<bool(const Json&)> accepts;
};

View some_view() {
  View view;
  view.members = {{"w1", "a", "h", {LogicalWorker(0), LogicalWorker(1)}},
                  {"w2", "b", "h", {LogicalWorker(2)}}};
  view.first_step = Step(1);
  view.batch = undivided_batch(64, 3);
  return view;
}

JobSpec some_job() {
  JobSpec job;
  job.name = "a";
  job.program = "p";
  job.args = {"x"};
  job.workers = WorkerRange{1, 2, 2};
  job.start = 1;
  job.logical_workers = 4;
  job.batch_max = 100;
  return job;
}

StepRecordHeader some_step() {
  StepRecordHeader record;
  record.step = Step(1);
  record.metric_sums = {{"m", 1}};
  record.squared_norms = {1, 2};
  return record;
}

std::vector<Reader> readers() {
  const Worker worker{
      .id = "w", .pid = 1, .host = "h", .rank = Rank(1), .reason = "", .exit = Exit{}};
  const Node node{.name = "n", .slots = 1, .kind = "", .domain = "", .address = ""};
  LedgerRecord ledger;
  ledger.step = Step(1);
  return {
      {"view", some_view(), [](const Json& json) { return view_from(json).ok(); }},
      {"job", some_job(), [](const Json& json) { return job_from(json).ok(); }},
      {"step record", some_step(), [](const Json& json) { return step_record_from(json).ok(); }},
      {"worker", worker, [](const Json& json) { return worker_from(json).ok(); }},
      {"node", node, [](const Json& json) { return node_from(json).ok(); }},
      {"ledger", ledger, [](const Json& json) { return ledger_record_from(json).ok(); }},
      {"position", Position{}, [](const Json& json) { return position_from(json).ok(); }},
      {"batch", Batch{}, [](const Json& json) { return batch_from(json).ok(); }},
      {"ramp", Ramp{}, [](const Json& json) { return ramp_from(json).ok(); }},
  };
}

Json odd_value(Random& random) {
  switch (random.below(12)) {
    case 0:
      return nullptr;
    case 1:
      return true;
    case 2:
      return -1;
    case 3:
      return 0;
    case 4:
      return 18446744073709551615u;
    case 5:
      return 1e308;
    case 6:
      return 0.5;
    case 7:
      return std::string(random.below(2) == 0 ? 0 : kTextMax + 1, 'x');
    case 8:
      return Json::array({Json::array(), Json::object(), 7});
    case 9:
      return Json::object({{"a", 1}});
    case 10:
      return Json(std::vector<int>(1000, 1));
    default:
      return random.next();
  }
}

// Replaces, removes or doubles one random value somewhere inside.
void spoil(Json& json, Random& random) {
  if (!json.is_structured() || json.empty() || random.once_in(4)) {
    json = odd_value(random);
    return;
  }
  auto child = json.begin();
  std::advance(child, static_cast<std::ptrdiff_t>(random.below(json.size())));
  if (json.is_array() && random.once_in(6)) {
    const Json copy = *child;
    json.push_back(copy);
  } else if (random.once_in(6)) {
    json.erase(child);
  } else {
    spoil(*child, random);
  }
}

TEST(AnyJson, is_read_or_refused) {
  Random random(7);
  for (const Reader& reader : readers()) {
    EXPECT_TRUE(reader.accepts(reader.good)) << reader.name;
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
      Json json = reader.good;
      for (std::uint64_t times = 1 + random.below(3); times > 0; --times) spoil(json, random);
      refused += reader.accepts(json) ? 0 : 1;
    }
    EXPECT_GT(refused, 500) << reader.name << ": the spoiling is too tame to show anything";
  }
}

TEST(AnyJson, lists_and_texts_have_limits) {
  Json view = some_view();
  view["members"][0].erase("rank");
  view["members"] = std::vector<Json>(kMembersMax + 1, view["members"][0]);
  EXPECT_NE(view_from(view).error().message.find("the limit is 4096"), std::string::npos);
  view = some_view();
  view["reason"] = std::string(kTextMax + 1, 'x');
  EXPECT_NE(view_from(view).error().message.find("the limit is 4096"), std::string::npos);
  Json step = some_step();
  step["squared_norms"] = std::vector<double>(kLogicalWorkersMax + 1, 0.5);
  EXPECT_NE(step_record_from(step).error().message.find("the limit is 65536"), std::string::npos);
}

}  // namespace
}  // namespace edl::model
