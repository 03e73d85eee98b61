// What a worker takes of memory beside the libraries, the data and what forward passes need: known
// before anything of it is taken. Plain functions.
#pragma once

#include <cstdint>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/train/trainee.h"

namespace edl::train {

// Of one program, in bytes.
struct MemoryFacts {
  std::uint64_t model_bytes = 0;      // parameters and buffers
  std::uint64_t optimizer_bytes = 0;  // with what the program has registered
  std::uint64_t gradient_bytes = 0;
  std::uint64_t sum_bytes = 0;      // of one partial sum
  std::uint64_t reduced_bytes = 0;  // of a step

  bool operator==(const MemoryFacts&) const = default;
};
MemoryFacts memory_facts(Trainee& trainee);
void to_json(Json& json, const MemoryFacts& facts);
Result<MemoryFacts> memory_facts_from(const Json& json);

// Of one job.
struct MemoryTerms {
  std::uint32_t logical_workers = 1;
  std::uint32_t members = 1;      // to begin with
  std::uint32_t members_max = 1;  // with one, nobody joins
  bool checkpoints = true;
};

// One worker's, in bytes.
struct MemoryBill {
  std::uint64_t parameters = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t gradients = 0;     // of micro batches, or clipped
  std::uint64_t partial_sums = 0;  // at worst: it carries all logical workers, or a range of them;
                                   // they may lie where gradients came
  std::uint64_t reduced = 0;       // the record of the last step
  std::uint64_t copies = 0;        // for a checkpoint and a joiner
  std::uint64_t receiving = 0;     // shares of other members, and what is lent to them
  // Without this much not even the first step can be made.
  std::uint64_t least = 0;

  std::uint64_t total() const {
    return parameters + optimizer + gradients + partial_sums + reduced + copies + receiving;
  }
};
MemoryBill memory_bill(const MemoryFacts& facts, const MemoryTerms& terms);
void to_json(Json& json, const MemoryBill& bill);

// How many partial sums there are at a time when a member computes `carried` logical workers that
// lie in one subtree, one after the other; and at worst when it has any range of so many.
std::uint32_t sums_of_subtree(std::uint32_t carried);
std::uint32_t sums_at_worst(std::uint32_t logical_workers);

// "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

// Whether `workers` workers fit into memory: a refusal, or a warning when only the bill at worst
// does not; empty when all is well.
Result<std::string> fit_memory(const MemoryBill& bill, std::uint32_t workers,
                               std::uint64_t available);

}  // namespace edl::train
