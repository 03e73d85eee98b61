// What must always hold for a job, checked from what is seen of it: the store's keys, each state
// that a worker has, what is told, what is on the disks. Plain state.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "edl/base/time.h"
#include "edl/data/ledger_file.h"
#include "edl/membership/rules.h"
#include "edl/model/view.h"
#include "edl/os/disk.h"
#include "edl/train/reporter.h"
#include "tests/world/train_toy.h"

namespace edl::tests {

class TrainChecker {
 public:
  using Hit = std::function<void(std::string_view what)>;
  TrainChecker(const ToyJob& job, const membership::Rules& rules, Hit hit);

  // The first thing that did not hold; empty: all did.
  const std::string& violation() const { return violation_; }
  void violate(const std::string& what);

  // Keys of the store, in its order.
  void on_published(const model::View& view);
  void on_recorded(model::Step step);
  // A worker has the state after `step`.
  void on_applied(const std::string& id, model::Step step, const Toy::Sign& sign);
  // A worker tells of a step, as events.jsonl has it. What the store holds was told before.
  void on_told(const std::string& id, const train::StepReport& told);
  void on_ended(const std::string& id) { dead_.insert(id); }
  // At the end, with the disks of all nodes.
  void check_ledgers(const std::vector<os::Disk*>& disks, const std::string& job_dir);

  model::Step stable() const { return stable_; }
  std::size_t views() const { return views_.size(); }
  const std::map<std::uint64_t, model::View>& all_views() const { return views_; }

 private:
  struct Worker {
    model::Step last{};
    std::map<model::Step, Toy::Sign> signs{};  // the latest of each step
  };
  void check_shape(const model::View& view);
  void check_rate(const model::View& view, const model::View* before);
  // As the rules of the learning rate say it, written anew.
  double wanted_factor(const model::View& view) const;
  static double factor_in(const model::View& view, model::Step step);
  double warmup(const ToyReplay::Plan& plan) const;
  void advance(const model::View& view);
  // The view in which a step was computed, when all that was published since is known.
  const model::View& view_of(model::Step step, model::Generation told) const;
  void fill_until(model::Step step, model::Generation told);
  void follow(const std::string& id, const train::StepReport& told, const model::View& view);

  const ToyJob job_;
  const membership::Rules rules_;
  const Hit hit_;
  std::string violation_;
  ToyReplay replay_;                            // what was told
  ToyReplay ahead_;                             // under `fixed`, also what was not told yet
  std::map<std::uint64_t, model::View> views_;  // published, by generation
  std::map<std::string, Worker> workers_;
  std::set<std::string> dead_;
  std::map<model::Step, model::Generation> told_;
  model::Step stable_{};
  model::Generation resumed_{};  // the last view that began anew
};

}  // namespace edl::tests
