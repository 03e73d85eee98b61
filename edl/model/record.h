// What a step leaves behind, without its gradients: what a member that is one step behind needs to
// know to apply it, in JSON beside the raw bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/fields.h"
#include "edl/model/ids.h"

namespace edl::model {

struct StepRecordHeader {
  Generation generation;      // of the view that computed it
  std::uint32_t members = 0;  // that it had
  Step step;
  Epoch epoch;
  std::uint64_t position = 0;  // where the step begins
  std::uint64_t samples = 0;
  bool ends_epoch = false;
  bool applied = true;     // false: found_inf, so all members skipped it
  bool found_inf = false;  // in the gradients of any part
  double loss_sum = 0;     // over samples
  NamedNumbers metric_sums;
  NamedNumbers evaluation;            // of the state before the step, where that was due
  std::vector<double> squared_norms;  // of each part's gradient, for the noise scale
  NamedNumbers hyper;                 // hyper-parameters used: rate, momentum, clip ...
  Digest digest{};                    // of the reduced gradients

  double mean_loss() const { return samples > 0 ? loss_sum / static_cast<double>(samples) : 0; }
};

void to_json(Json& json, const StepRecordHeader& record);
Result<StepRecordHeader> step_record_from(const Json& json);

}  // namespace edl::model
