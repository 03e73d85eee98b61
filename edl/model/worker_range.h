// How many workers a job may have: `--workers=N` or `--workers=MIN:MAX`, and what it starts with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "edl/base/result.h"

namespace edl::model {

// Never below `min` without waiting, never above `max`.
struct WorkerRange {
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::optional<std::uint32_t> start;  // wanted at the beginning, when that was said

  // How many are wanted at the beginning on a machine with so many cores.
  std::uint32_t first_wanted(std::uint32_t cores) const;
  bool operator==(const WorkerRange&) const = default;
};

// "8" is 1:8 that starts with 8; "2:8" is what it says; "8:8" is rigid.
Result<WorkerRange> parse_workers(std::string_view text);
// What parse_workers reads back: "8" when it starts with all, else "2:8".
std::string workers_text(const WorkerRange& range);

struct FittedWorkers {
  WorkerRange range;
  std::string note;  // a sentence when the range was cut, else empty
};

// A job cannot use more workers than it has logical workers: a minimum or start above is refused, a
// maximum above is cut.
Result<FittedWorkers> fit_workers(WorkerRange range, std::uint32_t logical_workers);

}  // namespace edl::model
