// What left the tree in a step, with its header.
#pragma once

#include "edl/model/record.h"
#include "edl/train/node_sums.h"

namespace edl::train {

// A record that somebody may still be reading from.
struct RecordCopy {
  model::StepRecordHeader header{};
  Numbers numbers{};
  std::size_t size = 0;  // bytes of them

  ConstBytes reduced() const { return {numbers.get(), size}; }
};

}  // namespace edl::train
