// The batch of a step, and how it is split into parts, one for each logical worker.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/ids.h"

namespace edl::model {

// What happens to the global batch when the number of members changes.
enum class BatchPolicy {
  kFixed,     // nothing
  kLinear,    // it grows with the members
  kCapped,    // it grows with the members up to a limit
  kAdaptive,  // it follows the measured noise of the gradients
};
std::string_view name(BatchPolicy policy);
Result<BatchPolicy> parse_batch_policy(std::string_view word);

// What one step trains on. A part is computed in `accumulate` micro batches of at most `micro`
// samples. None of this depends on how many members there are or what memory they have.
struct Batch {
  BatchPolicy policy = BatchPolicy::kFixed;
  std::uint64_t global = 1;
  std::uint64_t micro = 1;
  std::uint64_t accumulate = 1;

  bool operator==(const Batch&) const = default;
};

// A batch whose parts are computed at once: one micro batch each.
Batch undivided_batch(std::uint64_t global, std::uint32_t logical_workers);

// The micro batches must hold the largest part; under `fixed` no part may be always empty.
Result<void> validate(const Batch& batch, std::uint32_t logical_workers);

void to_json(Json& json, const Batch& batch);
Result<Batch> batch_from(const Json& json);

// Samples of part v when `samples` are split among `parts`: the first ones get one more.
std::uint64_t part_size(std::uint64_t samples, std::uint32_t parts, LogicalWorker v);
// Samples in the parts before v.
std::uint64_t part_begin(std::uint64_t samples, std::uint32_t parts, LogicalWorker v);

Result<void> validate_logical_workers(std::uint64_t logical_workers);
// The largest power of two <= min(16, batch/32), at least 1.
std::uint32_t default_logical_workers(std::uint64_t batch);
// The worker counts at which V logical workers run faster than at any smaller count: k workers are
// as fast as V/ceil(V/k). For V = 8: 1, 2, 3, 4, 8.
std::vector<std::uint32_t> useful_sizes(std::uint32_t logical_workers);

}  // namespace edl::model
