// The phases of a worker's life at which a drill can strike: what `--fault` names.
#pragma once

#include "edl/model/fault.h"

namespace edl::train {

using Phase = model::FaultPhase;

}  // namespace edl::train
