// Steps that give somebody a single sample. A model that normalises samples by each other
// (BatchNorm) cannot train on one alone, so a job of such a model is refused before it begins.
// Plain functions.
#pragma once

#include "edl/batch/policy.h"

namespace edl::batch {

// Of a job: it may have any number of members from `members_min` to `members_max`.
struct EpochShape {
  std::uint64_t samples = 1;
  BatchRule rule{};
  std::uint32_t members_min = 1;
  std::uint32_t members_max = 1;
};

// Whether forward would see a single sample in some step of an epoch, however the members change
// while it lasts. Under adaptive of the first batch only: others are chosen by the function below.
bool has_lone_sample(const EpochShape& shape);

// Others for which it would not: the nearest batch, the largest number of logical workers below.
std::optional<std::uint64_t> batch_without_lone_sample(const EpochShape& shape);
std::optional<std::uint32_t> logical_workers_without_lone_sample(const EpochShape& shape);

// Under adaptive, at a position of an epoch: the batch next to `wanted` with which nobody sees a
// single sample, in what is left of this epoch and in later ones.
std::optional<std::uint64_t> batch_from_here(const BatchRule& rule, std::uint64_t samples,
                                             std::uint64_t position, std::uint64_t wanted);

}  // namespace edl::batch
