// A change that is tried until it is known whether it happened. Fit for changes that may be made
// twice without harm: those with conditions that the first success ends.
#pragma once

#include "edl/store/store.h"

namespace edl::store {

struct Settled {
  bool happened = false;             // by one of our tries that we saw succeed
  Revision revision = 0;             // that the puts have, if it happened
  std::optional<KeyValue> stored{};  // what the key has, if we did not see one succeed
};

// Tries `change` until the deadline. When a condition does not hold (perhaps because an earlier
// try of ours, of which we never heard, succeeded), answers what `key` holds. Errors: kTimeout when
// the deadline passed without knowing, kConflict when this is another store.
[[nodiscard]] os::Pending settle(Store& store, Change change, std::string key, Duration limit,
                                 Done<Settled> done);

// The key holds what the first one put there, for ever; answers that.
[[nodiscard]] os::Pending put_if_absent(Store& store, const std::string& key,
                                        const std::string& value, Duration limit,
                                        Done<std::string> done);

}  // namespace edl::store
