// The hash of a training state: SHA-256 over its entries, sorted by name, each as
// name LF dtype LF d0,d1,... LF bytes. Equal states have equal hashes on every machine.
#pragma once

#include <string>
#include <vector>

#include "edl/checkpoint/tensor.h"

namespace edl::checkpoint {

// Lower-case hex. Names are as in the state: `model/NAME`, `optimizer/NAME/KEY`, `position`.
Result<std::string> state_hash(std::vector<Tensor> entries);

}  // namespace edl::checkpoint
