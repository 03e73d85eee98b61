// A fault at every single call with which checkpoints are written and old ones removed: the power
// fails there, the process is killed there, or the call fails.
#include <gtest/gtest.h>

#include <cstdio>

#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/reader.h"
#include "edl/checkpoint/retention.h"
#include "edl/checkpoint/training_test.h"
#include "edl/os/machine_test.h"

namespace edl::checkpoint {
namespace {

using model::Step;
using os::Machine;

enum class Fault { kPowerCut, kKill, kError };
constexpr std::string_view kFaultNames[] = {"power cut", "kill", "error"};

// What a worker does when a checkpoint is due: writes it, records it, removes what is too old. The
// record lies in a store, which has it once it has answered.
void keep_one(os::System& system, std::uint64_t step, std::vector<Step>& recorded) {
  if (!write(system, step).ok()) return;
  recorded.emplace_back(step);
  const auto found = find_checkpoints(system.disk(), kJob, of_generation(recorded));
  if (!found.ok()) return;
  for (const Step old : expired(*found, 2)) {
    (void)remove_checkpoint(system.disk(), checkpoint_path(kJob, old));
  }
}

// Steps 1 to 3 are kept; so the next one also removes the oldest.
std::vector<Step> prepare(Machine& machine) {
  std::vector<Step> recorded;
  machine.run([&](os::System& system) {
    for (const std::uint64_t step : {1, 2, 3}) keep_one(system, step, recorded);
  });
  EXPECT_EQ(recorded.size(), 3u);
  return recorded;
}

std::uint64_t calls_of_one() {
  Machine machine;
  std::vector<Step> recorded = prepare(machine);
  const std::uint64_t before = machine.disk().changes();
  machine.run([&](os::System& system) { keep_one(system, 4, recorded); });
  EXPECT_EQ(recorded.size(), 4u);
  return machine.disk().changes() - before;
}

void strike(Machine& machine, Fault fault, std::uint64_t call) {
  switch (fault) {
    case Fault::kPowerCut:
      return machine.world().cut_power_at_disk_call(0, call);
    case Fault::kKill:
      return machine.world().kill_at_disk_call(0, call);
    case Fault::kError:
      return machine.disk().fail_call(call);
  }
}

// Answers whether step 4 was recorded in spite of the fault.
bool try_point(Fault fault, std::uint64_t call, std::uint64_t seed) {
  const std::string where =
      text(kFaultNames[static_cast<std::size_t>(fault)], " at call ", call + 1, ", seed ", seed);
  Machine machine(seed);
  std::vector<Step> recorded = prepare(machine);
  strike(machine, fault, call);
  machine.run([&](os::System& system) { keep_one(system, 4, recorded); });
  EXPECT_FALSE(machine.disk().armed()) << where << ": the fault did not strike";
  machine.recover();
  const bool was_recorded = recorded.size() == 4;
  machine.run([&](os::System& system) {
    // The newest recorded one is there, whole and with the right numbers.
    EXPECT_EQ(load_newest(system, recorded), recorded.back().value()) << where;
    // And what is half there does not disturb the next attempts.
    for (const std::uint64_t step : {4, 5}) {
      std::erase(recorded, Step(step));
      keep_one(system, step, recorded);
      EXPECT_EQ(load_newest(system, recorded), step) << where;
    }
  });
  return was_recorded;
}

TEST(Checkpoint, survives_a_fault_at_every_call_that_writes_syncs_renames_or_removes) {
  const std::uint64_t calls = calls_of_one();
  std::uint64_t points = 0;
  for (const Fault fault : {Fault::kPowerCut, Fault::kKill, Fault::kError}) {
    // What a power cut leaves of unsynced writes (all, none, torn, in another order) is a matter of
    // chance; the others leave nothing to it.
    const std::uint64_t seeds = fault == Fault::kPowerCut ? 16 : 1;
    std::uint64_t recorded = 0;
    for (std::uint64_t call = 0; call < calls; ++call) {
      for (std::uint64_t seed = 1; seed <= seeds; ++seed, ++points) {
        recorded += try_point(fault, call, seed * 1000 + call) ? 1 : 0;
      }
    }
    EXPECT_GT(recorded, 0u) << "no fault struck behind the record";
    EXPECT_LT(recorded, calls * seeds) << "no fault struck before the record";
  }
  std::printf("%llu calls of a checkpoint, %llu points tried\n",
              static_cast<unsigned long long>(calls), static_cast<unsigned long long>(points));
  EXPECT_GE(calls, 25u);
}

}  // namespace
}  // namespace edl::checkpoint
