// A job as the simulator runs it: how fast it computes where it is, and what it tells a scheduler.
// Two kinds: one with epochs and a batch that may adapt (profiled_job.h), and one with a curve of
// speed by size (curve_job.h).
#pragma once

#include <optional>

#include "edl/scheduler/snapshot.h"
#include "edl/simulator/application.h"

namespace edl::simulator {

class JobModel {
 public:
  virtual ~JobModel() = default;

  // Where it runs from now on; `speed` is that of the slowest of its nodes. Empty: it stops.
  virtual void place(const Placement& placement, double speed) = 0;
  // Computes for so long. Answers after how many of these seconds it ended, if it did.
  virtual std::optional<double> run(double seconds) = 0;
  // Seconds until it ends or its speed changes by itself, if it goes on as it is.
  virtual double next_change() const = 0;

  // Fills in what the job tells of itself: limits, speeds, and what is left when it is declared.
  virtual void report(scheduler::Job& job, bool declared) = 0;
  // Seconds of the whole job with so many workers packed on nodes of so many slots, undisturbed.
  virtual double alone_seconds(std::uint32_t workers, std::uint32_t node_slots) const = 0;
};

}  // namespace edl::simulator
