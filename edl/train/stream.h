// A data set without a known end: records that come while it is trained on. It says what has come;
// which number each record has is agreed elsewhere (catalog.h), and told to it.
#pragma once

#include <optional>

#include "edl/data/partition.h"

namespace edl::train {

// What stands behind the last partition: one more, or nothing yet, or the end.
struct Arrival {
  std::optional<data::Partition> partition{};  // its `first` is not looked at
  bool has_ended = false;
};

// Its calls are made where the trainee's are.
class Stream {
 public:
  virtual ~Stream() = default;
  // Looks at the source. `last`: the last partition that was agreed on, null when there is none.
  virtual Result<Arrival> look(const data::Partition* last) = 0;
  // All have agreed on this one, which follows those before it.
  virtual Result<void> add(const data::Partition& partition) = 0;
};

}  // namespace edl::train
