#include "edl/train/beginning.h"

#include "edl/checkpoint/weights.h"
#include "edl/train/transfer.h"

namespace edl::train {

Result<void> begin(os::Disk& disk, Trainee& trainee, const Beginning& beginning) {
  EDL_TRY(trainee.initialise(beginning.seed));
  if (!beginning.weights) return {};
  EDL_TRY(checkpoint::load_weights(disk, beginning.weights->path, beginning.weights->sha256,
                                   places_of(trainee.state())));
  trainee.loaded();
  return {};
}

}  // namespace edl::train
