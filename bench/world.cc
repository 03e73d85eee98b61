// How fast the virtual world is: seeds of the lock, and a larger cluster for a long time.
#include "examples/lock/world.h"
#include "bench/table.h"

namespace {

void fill(edl::bench::Table& table) {
  using namespace edl;
  constexpr int kRepeats = 5;
  constexpr std::uint64_t kSeeds = 200;
  std::vector<double> times;
  std::uint64_t events = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    events = 0;
    times.push_back(bench::seconds_of([&] {
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        lock::LockWorld world({.seed = seed});
        world.run();
        events += world.world().event_count();
      }
    }));
  }
  const double seeds_took = bench::median(times);
  table.row({{"what", "lock, 5 nodes"},
             {"seeds_per_s", kSeeds / seeds_took},
             {"events_per_s", static_cast<double>(events) / seeds_took},
             {"seconds", seeds_took}});
  times.clear();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    times.push_back(bench::seconds_of([&] {
      lock::LockWorld world({.seed = 1, .workers = 49, .faults_for = 10min, .faults = 200});
      world.run();
      events = world.world().event_count();
    }));
  }
  const double large_took = bench::median(times);
  table.row({{"what", "50 nodes 10 min"},
             {"events_per_s", static_cast<double>(events) / large_took},
             {"seconds", large_took}});
}

}  // namespace

int main(int argc, char** argv) {
  return edl::bench::run(argc, argv, {"what", "seeds_per_s", "events_per_s", "seconds"}, fill);
}
