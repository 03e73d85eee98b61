// A job of an application that was measured. Progress is counted in steps of the initial batch; an
// epoch's noise decides what a larger batch is worth, and the job learns the time of its steps from
// the sizes that it has run at.
#pragma once

#include <map>
#include <tuple>

#include "edl/simulator/job_model.h"

namespace edl::simulator {

struct ProfiledOptions {
  std::uint32_t batch = 0;       // kept; 0: chosen for goodput
  bool whole_seconds = true;     // epochs end at whole seconds, as in the simulator of Pollux
  std::uint32_t node_slots = 4;  // for sizes that it has not run at
};

class ProfiledJob final : public JobModel {
 public:
  ProfiledJob(const Application& application, const ProfiledOptions& options);

  void place(const Placement& placement, double speed) override;
  std::optional<double> run(double seconds) override;
  double next_change() const override;
  void report(scheduler::Job& job, bool declared) override;
  double alone_seconds(std::uint32_t workers, std::uint32_t node_slots) const override;

  std::uint32_t epoch() const { return epoch_; }

 private:
  struct Rate {
    StepSeconds seconds{};
    scheduler::Gradient gradient{};
    double goodput = 0;
  };

  Rate rate() const;
  void choose_batch();
  void learn(const Rate& rate);
  void tell_kept_batch(scheduler::Job& job, bool declared) const;
  void tell_best_batches(scheduler::Job& job);
  double kept_step_seconds(std::uint32_t workers) const;

  const Application& application_;
  const ProfiledOptions options_;
  Placement placement_{};
  double speed_ = 1;
  scheduler::BatchSplit split_{};
  std::uint32_t epoch_ = 0;
  double progress_ = 0;
  std::vector<scheduler::StepMeasurement> measured_{};
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, bool> known_{};
  scheduler::StepTime time_{};
  scheduler::Gradient gradient_{};
  std::uint32_t tried_ = 0;
  bool told_is_old_ = true;
  std::vector<scheduler::SpeedPoint> told_{};
};

}  // namespace edl::simulator
