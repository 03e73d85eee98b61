// A whole job in a virtual cluster: the store, agents that start workers, and the workers with all
// that they really run. Checkers are always on.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "edl/model/view.h"
#include "edl/os/virtual/chaos.h"
#include "edl/os/virtual/world.h"
#include "edl/store/server.h"
#include "edl/train/worker.h"
#include "tests/world/train_checker.h"

namespace edl::tests {

struct TrainWorldOptions {
  std::uint64_t seed = 1;
  int nodes = 4;
  int faults = 6;
  std::vector<model::Fault> drills{};  // once on each node
  std::string hunt{};                  // the first leader in this phase of a change is killed ...
  Duration hunt_after{};               // ... from then on,
  int hunts = 1;                       // and as often, a second apart
  Duration blind{};                    // the first joiner about to be published hears no store ...
  Duration blind_after{};              // ... for so long, from then on
  int slow_node = -1;                  // computes `slowness` times slower ...
  double slowness = 1;
  Duration slow_until{};  // ... until then
  ToyJob job{};
  bool is_stream = false;  // samples of the job come while it trains, and it ends with them
  std::uint32_t min = 1;
  std::uint32_t max = 4;
  std::uint32_t wanted = 3;
  bool scales = true;  // whoever asked for the job asks for more and fewer workers
  model::BatchPolicy policy = model::BatchPolicy::kFixed;
  model::RateRule lr_rule = model::RateRule::kNone;
  std::uint64_t warmup_samples = 0;
  Duration replace_after = 3s;
  Duration faulty = 5s;      // faults begin and end within it
  Duration recovery = 20s;   // then steps go on within it
  Duration calm_max = 120s;  // and the job has ended within it
};

class TrainWorld {
 public:
  explicit TrainWorld(const TrainWorldOptions& options);
  ~TrainWorld();

  // Until the job has its result, or something is wrong.
  void run();
  // Until then, or for so long.
  void run_for(Duration duration);

  const std::string& violation() const { return violation_; }
  os::VirtualWorld& world() { return world_; }
  const TrainWorldOptions& options() const { return options_; }
  const TrainChecker& checker() const { return checker_; }
  std::string alive_text() const;  // who is there, and what it waits for
  int node_of(int worker_node) const { return kFirstNode + worker_node; }

 private:
  static constexpr int kStoreNode = 0;
  static constexpr int kPersonNode = 1;
  static constexpr int kFirstNode = 2;

  class Store;
  class Agent;
  class Member;
  class Person;

  void note(const std::string& who, const std::string& what);
  void unleash();
  void hunt();
  void blind_joiner();
  bool is_over();
  void violate(const std::string& what);
  void on_result(const std::string& value);
  void look_at_store();
  void look_at_catalog();
  int node_called(const std::string& host) const;
  void count_drills(const std::string& host, bool leads);
  void check_ledgers();
  membership::Rules rules() const;
  ToyJob toy_job() const;
  double slowness(const std::string& host) const;

  const TrainWorldOptions options_;
  const bool shows_;  // environment EDL_SHOW: all log lines
  int next_id_ = 1;
  std::string violation_;
  std::string result_;
  std::optional<Time> progress_by_;  // faults are over: a step becomes stable until then
  model::Step stable_when_calm_{};
  std::set<std::pair<std::string, std::size_t>> drilled_;  // host, number of the drill
  store::StoreServer* store_ = nullptr;                    // that runs now
  store::Revision seen_revision_ = 0;
  store::Revision view_revision_ = 0;
  store::Revision recorded_revision_ = 0;
  std::map<std::string, Member*> alive_;
  int hunted_ = 0;
  bool hunting_ = false;
  bool blinding_ = false;
  ToySource source_;
  ToyCatalog catalog_;
  TrainChecker checker_;
  os::VirtualWorld world_;  // last: its processes tell the rest when they end
};

}  // namespace edl::tests
