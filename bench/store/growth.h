// What many keys cost: memory, and the time of a start after kill -9.
#pragma once

#include "bench/store/load.h"

namespace edl::bench {

// Fills a fresh server up to each of `sizes`, and kills and starts it at each.
Result<void> measure_growth(os::PosixSystem& system, std::unique_ptr<Server> server,
                            const std::vector<std::size_t>& sizes, Table& table);

}  // namespace edl::bench
