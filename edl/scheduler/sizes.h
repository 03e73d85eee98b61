// What policies have in common: orders of jobs, and a draft from the number of workers of each.
#pragma once

#include <vector>

#include "edl/scheduler/draft.h"

namespace edl::scheduler {

using JobOrder = std::vector<std::size_t>;
using Sizes = std::vector<std::uint32_t>;  // workers of each job of the snapshot

// By priority, then by submission.
JobOrder by_submission(const Snapshot& snapshot);
// By priority, of those that run before those that wait, then by submission.
JobOrder by_running(const Snapshot& snapshot);
// Those in the order, one after the other, whose minimum is left by those before.
JobOrder with_minimum(const Snapshot& snapshot, const JobOrder& order);

// Workers that the largest of the usual nodes holds, at least one.
std::uint32_t node_room(const Snapshot& snapshot, const Job& job);
// Nodes that so many workers take when they are packed as tightly as empty nodes allow.
std::uint32_t packed_nodes(const Snapshot& snapshot, const Job& job, std::uint32_t workers);

// What a job has left to do, as far as it told; else a guess: as much as it has done.
double remaining_work(const Job& job, double speed_alone);

// "grows to 4", of a job that runs.
std::string change_text(std::uint32_t had, std::uint32_t has);
// Reasons in equal words for equal decisions.
void explain_sizes(Draft& draft, const std::string& because);

}  // namespace edl::scheduler
