#include "edl/checkpoint/weights.h"

#include <gtest/gtest.h>

#include <array>

#include "edl/checkpoint/safetensors.h"
#include "edl/os/machine_test.h"

namespace edl::checkpoint {
namespace {

using os::Machine;

constexpr const char* kPath = "/weights";

// What a program has: two tensors of weights, and one that no file of weights knows.
struct Net {
  std::array<float, 6> weight{};
  std::array<float, 2> bias{};
  std::array<float, 6> momentum{9, 9, 9, 9, 9, 9};

  std::vector<TensorPlaceholder> places() {
    return {
        {"model/weight", Dtype::kF32, {2, 3}, std::as_writable_bytes(std::span(weight))},
        {"model/bias", Dtype::kF32, {2}, std::as_writable_bytes(std::span(bias))},
        {"optimizer/weight/m", Dtype::kF32, {2, 3}, std::as_writable_bytes(std::span(momentum))}};
  }
};

constexpr std::array<float, 6> kWeight{1, 2, 3, 4, 5, 6};
constexpr std::array<float, 2> kBias{7, 8};

std::vector<Tensor> tensors() {
  return {{"weight", Dtype::kF32, {2, 3}, std::as_bytes(std::span(kWeight))},
          {"bias", Dtype::kF32, {2}, std::as_bytes(std::span(kBias))}};
}

std::string write(os::Disk& disk, const std::vector<Tensor>& content) {
  const auto file = disk.open(kPath, os::Open::kWrite).value();
  HashedWriter out(*file);
  EXPECT_TRUE(write_safetensors(out, content).ok());
  return hash_weights(disk, kPath).value();
}

// What is said of a file with these tensors; the net must be as it was.
std::string refusal(os::Disk& disk, const std::vector<Tensor>& content) {
  Net net;
  const auto loaded = load_weights(disk, kPath, write(disk, content), net.places());
  EXPECT_EQ(net.weight, Net().weight);
  return loaded.ok() ? "" : loaded.error().message;
}

TEST(Weights, are_loaded_by_their_names_and_nothing_else_is_touched) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    Net net;
    const std::string hash = write(disk, tensors());
    ASSERT_TRUE(load_weights(disk, kPath, hash, net.places()).ok());
    EXPECT_EQ(net.weight, kWeight);
    EXPECT_EQ(net.bias, kBias);
    EXPECT_EQ(net.momentum, Net().momentum);
  });
}

TEST(Weights, of_another_program_are_refused_by_name) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    auto fewer = tensors();
    fewer.pop_back();
    EXPECT_EQ(refusal(disk, fewer),
              "the program has a tensor bias, but /weights has none: give a file with all of the "
              "program's weights");
    auto more = tensors();
    more.push_back({"extra", Dtype::kF32, {2}, more[1].bytes});
    EXPECT_EQ(refusal(disk, more),
              "/weights has a tensor extra that the program does not have: take it out of the "
              "file");
    auto turned = tensors();
    turned[0].shape = {3, 2};
    EXPECT_EQ(refusal(disk, turned),
              "tensor weight is F32[2,3] in the program and F32[3,2] in /weights");
    auto typed = tensors();
    typed[1] = {"bias", Dtype::kF64, {1}, typed[1].bytes};
    EXPECT_EQ(refusal(disk, typed), "tensor bias is F32[2] in the program and F64[1] in /weights");
  });
}

TEST(Weights, that_changed_since_the_job_was_made_are_refused) {
  Machine machine;
  machine.run([&](os::Disk& disk) {
    Net net;
    const std::string hash = write(disk, tensors());
    const std::uint64_t size = disk.open(kPath, os::Open::kRead).value()->size().value();
    machine.disk().flip_bit(kPath, size - 1);
    const auto loaded = load_weights(disk, kPath, hash, net.places());
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().message.find("has changed since the job was made"), std::string::npos);
    EXPECT_EQ(net.weight, Net().weight);
  });
}

TEST(Weights, a_file_that_is_no_safetensors_is_refused) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    const auto file = disk.open(kPath, os::Open::kWrite).value();
    ASSERT_TRUE(file->write_at(0, bytes_of("PK\x03\x04 a pickle of torch.save")).ok());
    const auto hash = hash_weights(disk, kPath);
    ASSERT_FALSE(hash.ok());
    EXPECT_TRUE(hash.error().message.starts_with("/weights is no file of weights: "));
  });
}

}  // namespace
}  // namespace edl::checkpoint
