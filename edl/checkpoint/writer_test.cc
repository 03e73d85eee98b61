#include "edl/checkpoint/writer.h"

#include <gtest/gtest.h>

#include <set>

#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/reader.h"
#include "edl/checkpoint/training_test.h"
#include "edl/os/machine_test.h"

namespace edl::checkpoint {
namespace {

using model::Step;
using os::Machine;

TEST(Checkpoint, of_a_generation_that_the_job_went_on_without_is_passed_over) {
  Machine machine;
  machine.run([](os::System& system) {
    ASSERT_TRUE(write(system, 7).ok());
    const Choice choice = newest_valid(system.disk(), kJob, {{Step(7), model::Generation(3)}});
    EXPECT_FALSE(choice.checkpoint.has_value());
    ASSERT_EQ(choice.passed_over.size(), 1u);
    EXPECT_NE(choice.passed_over[0].find("the job went on without it"), std::string::npos);
  });
}

TEST(Checkpoint, what_was_written_is_loaded) {
  Machine machine;
  machine.run([](os::System& system) {
    std::vector<Phase> phases;
    const auto written = write(system, 7, [&](Phase phase) { phases.push_back(phase); });
    ASSERT_TRUE(written.ok()) << written.error().message;
    EXPECT_EQ(phases, (std::vector<Phase>{Phase::kWrite, Phase::kSync, Phase::kRename}));
    EXPECT_EQ(written->path, "/job/checkpoints/7");
    EXPECT_EQ(written->state_hash, hash_at(7));
    const auto checkpoint = open_checkpoint(system.disk(), written->path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->bytes, written->bytes);
    EXPECT_EQ(hash_of(system.disk(), *checkpoint).value(), hash_at(7));
    StateCopy copy;
    ASSERT_TRUE(load_checkpoint(system.disk(), *checkpoint, copy).ok());
    EXPECT_EQ(copy.hash(), hash_at(7));
    EXPECT_EQ(load_newest(system, {Step(7)}), 7u);
    EXPECT_EQ(system.disk().list(written->path).value().size(), 4u);
  });
}

// The heart of it: whatever call the power fails at, what was recorded before is there, and what
// was written completely too.
TEST(Checkpoint, a_power_cut_at_any_disk_call_loses_nothing_that_was_recorded) {
  std::uint64_t cuts = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    bool cut = true;
    for (std::uint64_t call = 0; cut; ++call) {
      Machine machine(seed * 1000 + call);
      machine.run([](os::System& system) { EXPECT_TRUE(write(system, 1).ok()); });
      std::vector<Step> recorded{Step(1)};
      machine.world().cut_power_at_disk_call(0, call);
      machine.run([&](os::System& system) {
        if (write(system, 2).ok()) recorded.emplace_back(2);
      });
      cut = !machine.world().is_up(0);
      cuts += cut ? 1 : 0;
      EXPECT_EQ(cut, recorded.size() == 1) << "seed " << seed << " call " << call;
      machine.recover();
      machine.run([&](os::System& system) {
        EXPECT_EQ(load_newest(system, recorded), recorded.size()) << "seed " << seed;
        const std::uint64_t found = load_newest(system, {Step(1), Step(2)});
        EXPECT_TRUE(found == 1 || found == 2) << "seed " << seed << " call " << call;
        // And what is half there does not disturb the next attempt.
        EXPECT_TRUE(write(system, 2).ok());
        EXPECT_EQ(load_newest(system, {Step(1), Step(2)}), 2u);
      });
    }
  }
  EXPECT_GT(cuts, 8 * 15u);
}

// Steps that were lost can be trained again to another state, when the batch changed.
TEST(Checkpoint, a_power_cut_while_another_state_is_replaced_leaves_one_of_both_or_none) {
  std::set<std::string> found;
  const auto write_shifted = [](os::System& system, float shift) {
    (void)system.disk().make_directory(kJob);
    Training training(2);
    for (float& weight : training.weights) weight += shift;
    StateCopy copy;
    EXPECT_TRUE(copy.take(training.tensors(), training.state).ok());
    const auto written =
        write_checkpoint(system.disk(), copy, {kJob, [&] { return system.now(); }, {}});
    return std::pair(copy.hash(), written.ok());
  };
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Machine machine(seed);
    std::string before;
    std::string after;
    machine.run([&](os::System& system) { before = write_shifted(system, 0).first; });
    machine.world().cut_power_at_disk_call(0, seed % 30);
    machine.run([&](os::System& system) { after = write_shifted(system, 1).first; });
    machine.recover();
    machine.run([&](os::System& system) {
      const auto left = open_checkpoint(system.disk(), checkpoint_path(kJob, Step(2)));
      const std::string hash = left.ok() ? hash_of(system.disk(), *left).value() : "none";
      EXPECT_TRUE(hash == "none" || hash == before || hash == after) << "seed " << seed;
      EXPECT_TRUE(left.ok() || left.error().code == Code::kNotFound) << left.error().message;
      found.insert(hash == before ? "before" : hash == after ? "after" : hash);
    });
  }
  EXPECT_EQ(found.size(), 3u);
}

TEST(Checkpoint, a_flipped_bit_is_found_wherever_it_is) {
  Machine machine;
  machine.run([&](os::System& system) {
    const auto written = write(system, 3);
    ASSERT_TRUE(written.ok());
    const auto names = system.disk().list(written->path).value();
    for (const std::string& name : names) {
      const std::string path = written->path + "/" + name;
      const std::uint64_t size = system.disk().open(path, os::Open::kRead).value()->size().value();
      for (std::uint64_t at = 0; at<size; at += size> 1000 ? 37 : 1) {
        machine.disk().flip_bit(path, at);
        EXPECT_FALSE(open_checkpoint(system.disk(), written->path).ok()) << path << " at " << at;
        machine.disk().flip_bit(path, at);
      }
    }
    EXPECT_TRUE(open_checkpoint(system.disk(), written->path).ok());
  });
}

TEST(Checkpoint, a_damaged_one_is_passed_over_with_a_sentence) {
  Machine machine;
  machine.run([&](os::System& system) {
    for (const std::uint64_t step : {1, 2, 3}) ASSERT_TRUE(write(system, step).ok());
    machine.disk().flip_bit("/job/checkpoints/3/model.safetensors", 200);
    ASSERT_TRUE(system.disk().remove("/job/checkpoints/2/MANIFEST.json").ok());
    const Choice choice =
        newest_valid(system.disk(), kJob, of_generation({Step(2), Step(1), Step(3), Step(9)}));
    ASSERT_TRUE(choice.checkpoint.has_value());
    EXPECT_EQ(choice.checkpoint->state.position.step, Step(1));
    ASSERT_EQ(choice.passed_over.size(), 3u);
    EXPECT_EQ(choice.passed_over[1],
              "/job/checkpoints/3/model.safetensors does not have the hash that its manifest says");
    EXPECT_FALSE(
        newest_valid(system.disk(), kJob, of_generation({Step(3)})).checkpoint.has_value());
  });
}

TEST(Checkpoint, a_full_disk_is_told_and_leaves_the_others_whole) {
  Machine measuring;
  std::uint64_t bytes = 0;
  measuring.run([&](os::System& system) { bytes = write(system, 1)->bytes; });
  for (std::uint64_t room = 0; room < bytes + 800; room += 97) {
    Machine machine;
    machine.run([&](os::System& system) {
      ASSERT_TRUE(write(system, 1).ok());
      machine.disk().limit_bytes(bytes + 500 + room);
      const auto second = write(system, 2);
      machine.disk().calm();
      EXPECT_EQ(load_newest(system, {Step(1), Step(2)}), second.ok() ? 2u : 1u);
      if (second.ok()) return;
      EXPECT_EQ(second.error().code, Code::kExhausted);
      EXPECT_TRUE(second.error().message.starts_with("cannot write the checkpoint /job/"));
      EXPECT_FALSE(system.disk().exists("/job/checkpoints/2")) << "room " << room;
    });
  }
}

TEST(Checkpoint, a_failed_sync_is_no_success) {
  Machine machine;
  machine.run([&](os::System& system) {
    ASSERT_TRUE(write(system, 1).ok());
    machine.disk().fail_next_sync();
    EXPECT_FALSE(write(system, 2).ok());
    EXPECT_EQ(load_newest(system, {Step(1), Step(2)}), 1u);
  });
}

TEST(Checkpoint, one_of_the_same_state_is_left_as_it_is) {
  Machine machine;
  machine.run([&](os::System& system) {
    ASSERT_TRUE(write(system, 1).ok());
    int phases = 0;
    const auto again = write(system, 1, [&](Phase) { ++phases; });
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(phases, 0);
    EXPECT_EQ(again->state_hash, hash_at(1));
  });
}

TEST(Checkpoint, one_with_the_same_numbers_that_others_trained_is_written_anew) {
  Machine machine;
  machine.run([&](os::System& system) {
    ASSERT_TRUE(write(system, 1).ok());
    Training training(1);
    training.state.trained_by = {model::Generation(8), 2};
    training.state.generation = model::Generation(8);
    StateCopy copy;
    ASSERT_TRUE(copy.take(training.tensors(), training.state).ok());
    const auto written =
        write_checkpoint(system.disk(), copy, {kJob, [&] { return system.now(); }, {}});
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(written->generation, model::Generation(8));
    const auto there = open_checkpoint(system.disk(), written->path);
    ASSERT_TRUE(there.ok());
    EXPECT_EQ(there->state.trained_by, training.state.trained_by);
    EXPECT_EQ(written->state_hash, hash_at(1));
  });
}

TEST(Checkpoint, other_tensors_are_refused_by_name) {
  Machine machine;
  machine.run([&](os::System& system) {
    const std::string path = write(system, 1)->path;
    const auto checkpoint = open_checkpoint(system.disk(), path).value();
    Training training(0);
    const auto refusal = [&](std::vector<TensorPlaceholder> places) {
      return load_checkpoint(system.disk(), checkpoint, places).error().message;
    };
    auto fewer = training.places();
    fewer.pop_back();
    EXPECT_EQ(refusal(fewer), path +
                                  " has a tensor optimizer/w/momentum that the program does "
                                  "not have: it is of another program");
    auto more = training.places();
    more.push_back({"model/bias", Dtype::kI64, {}, more[1].bytes});
    EXPECT_EQ(refusal(more), "the program has a tensor model/bias, but " + path +
                                 " has none: it is of another program");
    auto shape = training.places();
    shape[0].shape = {400};
    EXPECT_EQ(refusal(shape),
              "tensor model/w is F32[400] in the program and F32[40,10] in " + path);
    EXPECT_EQ(training.weights, Training(0).weights);
  });
}

TEST(Checkpoint, a_copy_takes_only_what_belongs_to_the_state) {
  const Training training(1);
  StateCopy copy;
  auto tensors = training.tensors();
  tensors.push_back({"extra", Dtype::kI64, {}, tensors[2].bytes});
  EXPECT_EQ(copy.take(tensors, training.state).error().code, Code::kInvalid);
  tensors.back().name = "model/w";
  EXPECT_EQ(copy.take(tensors, training.state).error().code, Code::kInvalid);
  EXPECT_TRUE(copy.tensors().empty());
  ASSERT_TRUE(copy.take(training.tensors(), training.state).ok());
  const std::byte* block = copy.tensors()[0].bytes.data();
  ASSERT_TRUE(copy.take(training.tensors(), training.state).ok());
  EXPECT_EQ(copy.tensors()[0].bytes.data(), block) << "the memory is used again";
}

TEST(Checkpoint, the_final_model_is_replaced_at_once) {
  Machine machine;
  machine.run([&](os::System& system) {
    const Training training(4);
    StateCopy copy;
    ASSERT_TRUE(copy.take(training.tensors(), training.state).ok());
    ASSERT_TRUE(system.disk().make_directory(kJob).ok());
    ASSERT_TRUE(write_final_model(system.disk(), copy, kJob).ok());
    const auto file = system.disk().open("/job/model.safetensors", os::Open::kRead).value();
    const auto checkpointed = write(system, 4);
    const auto other = os::read_file(system.disk(), checkpointed->path + "/model.safetensors", 1e6);
    EXPECT_EQ(os::read_file(system.disk(), "/job/model.safetensors", 1e6).value(), other.value());
    machine.disk().fail_next_sync();
    EXPECT_FALSE(write_final_model(system.disk(), copy, kJob).ok());
    EXPECT_EQ(os::read_file(system.disk(), "/job/model.safetensors", 1e6).value(), other.value());
  });
}

TEST(Checkpoint, removing_one_begins_with_its_manifest) {
  for (std::uint64_t call = 0; call < 12; ++call) {
    Machine machine(call + 1);
    machine.run([](os::System& system) { EXPECT_TRUE(write(system, 1).ok()); });
    machine.world().cut_power_at_disk_call(0, call);
    machine.run([](os::System& system) {
      (void)remove_checkpoint(system.disk(), checkpoint_path(kJob, Step(1)));
    });
    machine.recover();
    machine.run([](os::System& system) {
      const std::uint64_t left = load_newest(system, {Step(1)});
      EXPECT_LE(left, 1u);
      EXPECT_TRUE(remove_checkpoint(system.disk(), checkpoint_path(kJob, Step(1))).ok());
      EXPECT_FALSE(system.disk().exists(checkpoint_path(kJob, Step(1))));
    });
  }
}

}  // namespace
}  // namespace edl::checkpoint
