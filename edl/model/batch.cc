#include "edl/model/batch.h"

#include <algorithm>
#include <array>
#include <bit>

#include "edl/base/json_object.h"
#include "edl/model/fields.h"
#include "edl/model/words.h"

namespace edl::model {
namespace {

constexpr std::array<std::string_view, 4> kPolicies{"fixed", "linear", "capped", "adaptive"};

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

std::string_view name(BatchPolicy policy) { return word_of(policy, kPolicies); }

Result<BatchPolicy> parse_batch_policy(std::string_view word) {
  return parse_word<BatchPolicy>("batch policy", word, kPolicies);
}

Batch undivided_batch(std::uint64_t global, std::uint32_t logical_workers) {
  return {.global = global, .micro = divide_up(global, logical_workers), .accumulate = 1};
}

Result<void> validate(const Batch& batch, std::uint32_t logical_workers) {
  EDL_TRY(validate_logical_workers(logical_workers));
  if (batch.global == 0 || batch.micro == 0 || batch.accumulate == 0) {
    return Error{Code::kInvalid,
                 text("a batch of ", batch.global, " in ", batch.accumulate, " micro batches of ",
                      batch.micro, " trains nothing: each of the three must be at least 1")};
  }
  if (batch.policy == BatchPolicy::kFixed && logical_workers > batch.global) {
    return Error{Code::kInvalid,
                 text("cannot split a batch of ", batch.global, " among ", logical_workers,
                      " logical workers: some would never get a sample. Use at most ", batch.global,
                      " logical workers or a larger batch.")};
  }
  const std::uint64_t largest = divide_up(batch.global, logical_workers);
  if (divide_up(largest, batch.micro) > batch.accumulate) {
    return Error{Code::kInvalid, text("a part of ", largest, " samples does not fit into ",
                                      batch.accumulate, " micro batches of ", batch.micro,
                                      ": it needs ", divide_up(largest, batch.micro), " of them.")};
  }
  return {};
}

void to_json(Json& json, const Batch& batch) {
  json = json_object({{"policy", name(batch.policy)},
                      {"global", batch.global},
                      {"micro", batch.micro},
                      {"accumulate", batch.accumulate}});
}

Result<Batch> batch_from(const Json& json) {
  JsonReader in(json, "batch");
  Batch batch;
  if (in.has("policy")) read_word(in, "policy", batch.policy, parse_batch_policy);
  in.read("global", batch.global);
  in.read("micro", batch.micro);
  in.read("accumulate", batch.accumulate);
  EDL_TRY(in.finish());
  return batch;
}

std::uint64_t part_size(std::uint64_t samples, std::uint32_t parts, LogicalWorker v) {
  EDL_CHECK(v.value() < parts);
  return samples / parts + (v.value() < samples % parts ? 1 : 0);
}

std::uint64_t part_begin(std::uint64_t samples, std::uint32_t parts, LogicalWorker v) {
  EDL_CHECK(v.value() <= parts);
  return samples / parts * v.value() + std::min<std::uint64_t>(v.value(), samples % parts);
}

Result<void> validate_logical_workers(std::uint64_t logical_workers) {
  if (logical_workers >= 1 && logical_workers <= kLogicalWorkersMax) return {};
  return Error{Code::kInvalid, text("a job cannot have ", logical_workers,
                                    " logical workers: use 1 to ", kLogicalWorkersMax)};
}

std::uint32_t default_logical_workers(std::uint64_t batch) {
  return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(batch / 32, 1, 16)));
}

std::vector<std::uint32_t> useful_sizes(std::uint32_t logical_workers) {
  std::vector<std::uint32_t> sizes;
  std::uint64_t busiest_before = logical_workers + std::uint64_t{1};
  for (std::uint32_t count = 1; count <= logical_workers; ++count) {
    const std::uint64_t busiest = divide_up(logical_workers, count);
    if (busiest < busiest_before) sizes.push_back(count);
    busiest_before = busiest;
  }
  return sizes;
}

}  // namespace edl::model
