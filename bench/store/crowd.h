// Thousands of watchers on one prefix, each with a stream of its own.
#pragma once

#include "bench/store/load.h"

namespace edl::bench {

struct CrowdSizes {
  std::size_t watchers = 2000;
  std::size_t rounds = 5;
  std::size_t count = 10;  // puts in each round
};
// An error when a watcher missed an event or saw one out of order.
Result<void> measure_crowd(os::PosixSystem& system, Targets& targets, Table& table,
                           const CrowdSizes& sizes);

}  // namespace edl::bench
