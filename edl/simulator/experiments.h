// The two experiments of the EDL project, in simulation: pending time of equal jobs that come soon
// after each other, and use of a cluster whose service leaves different amounts to training.
#pragma once

#include <string>
#include <vector>

#include "edl/simulator/report.h"

namespace edl::simulator {

struct ExperimentResult {
  std::vector<ReportRun> runs{};
  std::vector<Json> rows{};
  Preface preface{};  // with what the experiment shows
};

// Twenty jobs, ten seconds apart, that want 60 workers each of 1,000 slots: as they are, and
// elastic from 5 workers on.
Result<ExperimentResult> pending_experiment();
// A service on 400 of 500 slots that goes down to 100 and back, beside training that may fill what
// is left: jobs of fixed size, and elastic ones.
Result<ExperimentResult> harvest_experiment();

}  // namespace edl::simulator
