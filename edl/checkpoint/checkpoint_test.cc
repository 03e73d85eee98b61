#include <gtest/gtest.h>

#include "edl/base/json.h"
#include "edl/base/random.h"
#include "edl/checkpoint/safetensors.h"
#include "edl/checkpoint/state_hash.h"
#include "edl/os/virtual/world.h"

namespace edl::checkpoint {
namespace {

template <class T, std::size_t n>
ConstBytes as_bytes(const T (&values)[n]) {
  return std::as_bytes(std::span(values));
}

constexpr float kWeights[] = {1, 2, 3, 4};
constexpr std::int64_t kCount[] = {-7};
constexpr std::int64_t kPosition[] = {1, 20, 7};

std::vector<Tensor> state() {
  return {{"position", Dtype::kI64, {3}, as_bytes(kPosition)},
          {"model/w", Dtype::kF32, {2, 2}, as_bytes(kWeights)},
          {"model/n", Dtype::kI64, {}, as_bytes(kCount)}};
}

// Runs `body` with a file on a machine of its own.
void with_file(const std::function<void(os::File&)>& body) {
  os::VirtualWorld world({.seed = 1, .quiet = true});
  world.add_node("a");
  world.install("body", [&](os::System& system, const os::Arguments&) {
    const auto file = system.disk().open("/file", os::Open::kWrite).value();
    body(*file);
    system.finish(0);
    return std::make_unique<os::Program>();
  });
  world.start(0, {"body"});
  world.run_for(1s);
}

TEST(StateHash, is_what_its_definition_says) {
  // Python: sha256 over name LF dtype LF shape LF bytes, entries sorted.
  EXPECT_EQ(state_hash(state()).value(),
            "1dcc7a2f868dc53b016cb1ef9eb8a57b7a4a5016d1f527e4a7fad836b96ebd5a");
  auto other = state();
  std::reverse(other.begin(), other.end());
  EXPECT_EQ(state_hash(other).value(), state_hash(state()).value());
  other[0].shape = {4};
  EXPECT_NE(state_hash(other).ok() ? state_hash(other).value() : "", state_hash(state()).value());
}

TEST(Safetensors, the_header_is_canonical) {
  auto tensors = state();
  const std::string header = safetensors_header(tensors).value();
  const std::string json = header.substr(8);
  EXPECT_EQ(json.size() % 8, 0u);
  EXPECT_TRUE(
      json.starts_with("{\"model/n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
                       "\"model/w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]},"
                       "\"position\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[24,48]}}"))
      << json;
}

TEST(Safetensors, what_was_written_is_found_again) {
  with_file([](os::File& file) {
    HashedWriter out(file);
    ASSERT_TRUE(write_safetensors(out, state()).ok());
    EXPECT_EQ(out.bytes(), file.size().value());
    const auto places = read_safetensors_header(file).value();
    ASSERT_EQ(places.size(), 3u);
    for (const Tensor& tensor : state()) {
      const TensorPlace& place = places.at(tensor.name);
      EXPECT_EQ(place.shape, tensor.shape);
      Bytes bytes(place.end - place.begin);
      EXPECT_EQ(file.read_at(place.begin, bytes).value(), bytes.size());
      EXPECT_EQ(bytes, copy_bytes(tensor.bytes));
    }
  });
}

TEST(Safetensors, wrong_tensors_are_refused) {
  auto twice = state();
  twice.push_back(twice[0]);
  EXPECT_EQ(safetensors_header(twice).error().code, Code::kInvalid);
  std::vector<Tensor> short_one{{"a", Dtype::kF32, {5}, as_bytes(kWeights)}};
  EXPECT_EQ(safetensors_header(short_one).error().code, Code::kInvalid);
  EXPECT_FALSE(tensor_bytes(Dtype::kF64, {1 << 30, 1 << 30, 1 << 30}).ok());
  EXPECT_FALSE(tensor_bytes(Dtype::kF64, {-1}).ok());
  EXPECT_EQ(tensor_bytes(Dtype::kF64, {1 << 30, 0, 1 << 30}).value(), 0u);
}

TEST(Safetensors, damaged_files_are_refused_and_never_read_beyond) {
  with_file([](os::File& file) {
    HashedWriter out(file);
    ASSERT_TRUE(write_safetensors(out, state()).ok());
    const std::uint64_t size = file.size().value();
    Bytes whole(size);
    ASSERT_EQ(file.read_at(0, whole).value(), size);
    Random random(4);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      Bytes changed = whole;
      for (std::uint64_t n = random.below(4) + 1; n > 0; --n) {
        changed[random.below(160)] = static_cast<std::byte>(random.below(256));
      }
      changed.resize(random.once_in(3) ? random.below(size) : size);
      ASSERT_TRUE(file.truncate(0).ok());
      ASSERT_TRUE(file.write_at(0, changed).ok());
      const auto places = read_safetensors_header(file);
      refused += places.ok() ? 0 : 1;
      if (!places.ok()) continue;
      for (const auto& [name, place] : *places) EXPECT_LE(place.end, changed.size());
    }
    EXPECT_GT(refused, 1000);
  });
}

}  // namespace
}  // namespace edl::checkpoint
