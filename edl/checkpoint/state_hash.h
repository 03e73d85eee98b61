// The hash of a training state: SHA-256 over its entries, sorted by name, each as
// name LF dtype LF d0,d1,... LF bytes. Equal states have equal hashes on every machine.
#pragma once

#include <string>
#include <vector>

#include "edl/base/sha256.h"
#include "edl/checkpoint/tensor.h"
#include "edl/model/position.h"

namespace edl::checkpoint {

// Lower-case hex. Names are as in the state: `model/NAME`, `optimizer/NAME/KEY`, `position`.
Result<std::string> state_hash(std::vector<Tensor> entries);

// The same for a state that comes piece by piece, its entries in order of their names.
class StateHash {
 public:
  void begin_entry(const std::string& name, Dtype dtype, const std::vector<std::int64_t>& shape);
  void add(ConstBytes bytes) { hash_.add(bytes); }
  // The entry `position`: int64 epoch, position, step.
  void add_position(const model::Position& position);
  std::string finish() { return hash_.finish(); }

 private:
  Sha256 hash_;
};

}  // namespace edl::checkpoint
