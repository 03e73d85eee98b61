// Snapshots of a cluster, from anyone: what is read gets a plan by every policy that keeps the
// rules.
#include "edl/base/check.h"
#include "edl/scheduler/plan.h"
#include "edl/scheduler/policy.h"
#include "edl/scheduler/snapshot_json.h"
#include "tests/fuzz/input.h"

using namespace edl;

namespace {

// Larger ones are read as well; planning them takes the time that the fuzzer needs for inputs.
bool is_small(const scheduler::Snapshot& snapshot) {
  if (snapshot.jobs.size() > 32 || scheduler::slots_of(snapshot) > 256) return false;
  for (const scheduler::Job& job : snapshot.jobs) {
    if (job.max > 256) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const auto snapshot = scheduler::parse_snapshot(text_of(input.rest()));
  if (!snapshot.ok()) {
    EDL_CHECK(!snapshot.error().message.empty());
    return 0;
  }
  if (!is_small(*snapshot)) return 0;
  for (const scheduler::Policy* policy : scheduler::policies()) {
    const scheduler::Plan plan = scheduler::plan(*snapshot, *policy);
    EDL_CHECK(plan.allocations.size() == snapshot->jobs.size());
  }
  return 0;
}
