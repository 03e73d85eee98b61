// A System that counts what its network sends and takes: messages of membership between members,
// and all bytes that pass between a member and the store.
#pragma once

#include <memory>

#include "edl/os/system.h"

namespace edl::bench {

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;  // with their headers
  std::uint64_t store_bytes = 0;    // both ways
};

// As `inner`, which outlives it; adds to `traffic`.
std::unique_ptr<os::System> counting_system(os::System& inner, Traffic& traffic);

inline constexpr const char* kStoreHost = "store";

}  // namespace edl::bench
