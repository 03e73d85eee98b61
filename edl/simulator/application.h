// A training program as it was measured: how long its steps take by placement and batch, and what
// each epoch takes. The format is that of the public profiles of Pollux, in one file per program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/result.h"
#include "edl/scheduler/goodput.h"

namespace edl::simulator {

// Workers on each node, in the order in which the nodes were taken.
using Placement = std::vector<std::uint32_t>;
std::uint32_t workers_in(const Placement& placement);

struct StepSeconds {
  double step = 0;
  double sync = 0;  // of it: talking
};

class Application {
 public:
  std::string name{};
  scheduler::BatchLimits batch{};
  std::uint32_t epochs = 0;
  std::uint32_t workers_max = 64;
  std::uint32_t kept_batch = 0;  // never adapted when not 0

  // Steps of the initial batch until the end of so many epochs.
  double progress_after(std::uint32_t done) const { return progress_[done]; }
  scheduler::Gradient gradient(std::uint32_t batch_size, std::uint32_t epoch) const;
  // Steps of this batch until the end of this epoch.
  double iterations(std::uint32_t batch_size, std::uint32_t epoch) const;
  StepSeconds step_seconds(const Placement& placement, double local_batch) const;

 private:
  friend class ProfileReader;
  friend class ProfileFolder;
  struct Validation {
    double batch = 0;
    std::vector<double> iterations{};
    std::vector<double> square{};
    std::vector<double> variance{};
  };
  struct Point {
    double local_batch = 0;
    StepSeconds seconds{};
  };
  using Curve = std::vector<Point>;

  double between(std::uint32_t batch_size, std::uint32_t epoch,
                 std::vector<double> Validation::*column) const;
  static StepSeconds on(const Curve& curve, double local_batch);

  std::vector<double> progress_;
  std::vector<Validation> validations_;
  std::map<std::string, Curve> placements_;  // by digits, the smallest rotation
  std::map<std::pair<std::uint32_t, std::uint32_t>, Curve> sizes_;  // by nodes and workers
};

// Programs that their authors ran in one way only.
void apply_habits(Application& application);

// The text of one program's file.
Result<Application> parse_application(std::string_view words);

}  // namespace edl::simulator
