// A job with a fixed amount of work and a known speed at each size.
#pragma once

#include <vector>

#include "edl/scheduler/speed.h"
#include "edl/simulator/job_model.h"

namespace edl::simulator {

struct CurveOptions {
  double work = 0;  // in the unit of per_s
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::uint32_t wanted = 0;
  std::uint32_t logical_workers = 0;
  std::vector<scheduler::SpeedPoint> speeds{};
};

class CurveJob final : public JobModel {
 public:
  explicit CurveJob(const CurveOptions& options);

  void place(const Placement& placement, double speed) override;
  std::optional<double> run(double seconds) override;
  double next_change() const override;
  void report(scheduler::Job& job, bool declared) override;
  double alone_seconds(std::uint32_t workers, std::uint32_t node_slots) const override;

 private:
  const CurveOptions options_;
  scheduler::SpeedCurve curve_;
  double per_s_ = 0;
  double left_ = 0;
  std::uint32_t tried_ = 0;
};

}  // namespace edl::simulator
