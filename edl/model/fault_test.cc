#include "edl/model/fault.h"

#include <gtest/gtest.h>

namespace edl::model {
namespace {

std::string problem(std::string_view input) {
  const auto fault = parse_fault(input);
  return fault.ok() ? "" : fault.error().message;
}

TEST(Fault, is_read_with_its_phase_step_worker_and_action) {
  const Fault fault = parse_fault("checkpoint_sync@20/w2=stop:500").value();
  EXPECT_EQ(fault.phase, FaultPhase::kCheckpointSync);
  EXPECT_EQ(fault.step, Step(20));
  EXPECT_EQ(fault.worker, "w2");
  EXPECT_EQ(fault.action, FaultAction::kStop);
  EXPECT_EQ(fault.pause, 500ms);
}

TEST(Fault, without_a_worker_means_whoever_comes_first) {
  const Fault fault = parse_fault("compute@1=kill").value();
  EXPECT_FALSE(fault.worker.has_value());
  EXPECT_TRUE(fires(fault, FaultPhase::kCompute, Step(3), "w9"));
  EXPECT_FALSE(fires(fault, FaultPhase::kReduce, Step(3), "w9"));
}

TEST(Fault, of_a_worker_fires_nowhere_else_and_not_before_its_step) {
  const Fault fault = parse_fault("apply@5/w2=exit:3").value();
  EXPECT_FALSE(fires(fault, FaultPhase::kApply, Step(5), "w1"));
  EXPECT_FALSE(fires(fault, FaultPhase::kApply, Step(4), "w2"));
  EXPECT_TRUE(fires(fault, FaultPhase::kApply, Step(5), "w2"));
}

TEST(Fault, text_comes_back_as_it_was_written) {
  for (const char* written :
       {"data@1=kill", "compute@7/w1=stop:1", "reduce@2=exit:255", "gather@3=slow:2.5",
        "ledger@4/w10=cut:w2", "checkpoint_record@18446744073709551615=kill"}) {
    const Json json = parse_fault(written).value();
    EXPECT_EQ(json, written);
    EXPECT_EQ(fault_text(fault_from(json).value()), written);
  }
}

TEST(Fault, what_makes_no_sense_is_refused_with_the_way_out) {
  EXPECT_EQ(problem("compute@20"),
            "\"compute@20\" is no fault: its action is missing. Write "
            "PHASE@STEP[/WORKER]=ACTION, as in compute@20/w2=kill.");
  EXPECT_NE(problem("compte@20=kill").find("Did you mean compute?"), std::string::npos);
  EXPECT_NE(problem("compute=kill").find("its step is missing"), std::string::npos);
  for (const char* bad :
       {"", "=", "compute@0=kill", "compute@-1=kill", "compute@1x=kill", "compute@1/=kill",
        "compute@1/W2=kill", "compute@1=kill:1", "compute@1=stop", "compute@1=stop:0",
        "compute@1=stop:600001", "compute@1=exit:256", "compute@1=exit:-1", "compute@1=slow:0.5",
        "compute@1=slow:nan", "compute@1=slow:inf", "compute@1=cut:", "compute@1=explode"}) {
    EXPECT_NE(problem(bad), "") << bad;
  }
  EXPECT_FALSE(fault_from(Json(7)).ok());
}

}  // namespace
}  // namespace edl::model
