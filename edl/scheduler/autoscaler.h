// How many workers one job alone should have: by N workers every K steps, up while a worker still
// adds enough, down where it does not. Facts in, decision out; what it learned is plain data, a
// mean and a count for each size.
//   s = ((R(k) - R(k - d)) / d) / (R(k - d) / (k - d)) > S
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace edl::scheduler {

struct AutoscalerRules {
  std::uint32_t by = 1;            // workers at once
  std::uint64_t every_steps = 50;  // measured at a size before the next change
  double least_efficiency = 0.1;   // S
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::uint32_t logical_workers = 0;  // only useful sizes; 0: all are
  // With a value of time, a worker must also be worth its price: both per second.
  double value_of_time = 0;
  double price_of_worker = 0;
};

struct Learned {
  double mean = 0;  // steps a second
  std::uint64_t count = 0;
};

struct ScaleDecision {
  std::uint32_t workers = 0;
  std::string reason{};
};

class Autoscaler {
 public:
  explicit Autoscaler(const AutoscalerRules& rules) : rules_(rules) {}

  // A step that took so long with so many workers.
  void measured(std::uint32_t workers, double seconds);
  // What to do now; `steps_left` when the job's length is known.
  ScaleDecision decide(std::uint32_t workers, std::optional<std::uint64_t> steps_left = {}) const;
  const std::map<std::uint32_t, Learned>& learned() const { return learned_; }

  // s of the step from `fewer` to `workers`, when both were measured long enough.
  std::optional<double> efficiency(std::uint32_t fewer, std::uint32_t workers) const;

 private:
  bool known(std::uint32_t workers) const;
  std::uint32_t larger(std::uint32_t workers) const;
  std::uint32_t smaller(std::uint32_t workers) const;
  // Whether what `workers` save of the time left is worth more than they cost; true without prices.
  bool pays(std::uint32_t fewer, std::uint32_t workers, std::optional<std::uint64_t> left) const;

  const AutoscalerRules rules_;
  std::map<std::uint32_t, Learned> learned_{};
};

// Who is slow: a moving mean of each worker's speed by the median's, below a limit for long enough.
class StragglerSignal {
 public:
  // Relative speed of a worker in one step, 1 for the median; answers whether it is a straggler.
  bool measured(const std::string& worker, double relative_speed);
  void forget(const std::string& worker) { means_.erase(worker); }

 private:
  std::map<std::string, double> means_{};
};

}  // namespace edl::scheduler
