#include "edl/train/drill.h"

#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"

namespace edl::train {
namespace {

constexpr auto kCompute = model::FaultPhase::kCompute;

// How slow a worker of one run of a job gets in its first step, by the faults it is given.
std::vector<double> strikes(os::System& system, const std::vector<std::string>& words) {
  std::vector<model::Fault> faults;
  for (const std::string& word : words) faults.push_back(model::parse_fault(word).value());
  std::vector<double> factors;
  Drill drill(system, "/job", "w1", faults,
              {.stop = [](std::size_t, const model::Fault&) {},
               .slow = [&](double factor) { factors.push_back(factor); },
               .cut = [](const model::WorkerId&) {}});
  drill.enter(kCompute, model::Step(1));
  drill.enter(kCompute, model::Step(2));
  return factors;
}

using Factors = std::vector<double>;

TEST(Drill, strikes_once_in_a_job_whatever_its_place_in_the_list) {
  os::VirtualWorld world({.seed = 1, .quiet = true});
  bool ran = false;
  world.install("test", [&](os::System& system, const os::Arguments&) {
    EXPECT_EQ(strikes(system, {"compute@1=slow:2"}), (Factors{2}));
    // Another run of the job, with other faults: only those that have not struck.
    EXPECT_EQ(strikes(system, {"compute@1=slow:3"}), (Factors{3}));
    EXPECT_EQ(strikes(system, {"compute@1/w1=slow:2", "compute@1=slow:2"}), (Factors{2}));
    EXPECT_EQ(strikes(system, {"compute@1/w1=slow:2", "compute@1=slow:3"}), Factors{});
    ran = true;
    return std::make_unique<os::Program>();
  });
  world.start(world.add_node("a"), {"test"});
  world.run_for(1s);
  EXPECT_TRUE(ran);
}

TEST(Drill, strikes_as_often_as_it_is_given) {
  os::VirtualWorld world({.seed = 1, .quiet = true});
  bool ran = false;
  world.install("test", [&](os::System& system, const os::Arguments&) {
    EXPECT_EQ(strikes(system, {"compute@1=slow:2", "compute@1=slow:2"}), (Factors{2, 2}));
    EXPECT_EQ(strikes(system, {"compute@1=slow:2", "compute@1=slow:2"}), Factors{});
    EXPECT_EQ(strikes(system, {"compute@1=slow:2", "compute@1=slow:2", "compute@1=slow:2"}),
              (Factors{2}));
    ran = true;
    return std::make_unique<os::Program>();
  });
  world.start(world.add_node("a"), {"test"});
  world.run_for(1s);
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace edl::train
