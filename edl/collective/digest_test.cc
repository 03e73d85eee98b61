#include "edl/collective/digest.h"

#include <gtest/gtest.h>

#include "edl/collective/xxh3.h"
#include "edl/os/cpu.h"

namespace edl::collective {
namespace {

Bytes pattern(std::size_t bytes) {
  Bytes block(bytes);
  for (std::size_t i = 0; i < bytes; ++i) block[i] = static_cast<std::byte>(i * 131 + (i >> 8));
  return block;
}

// As libxxhash 0.8.1 answers.
TEST(Digest, a_block_has_the_hash_that_its_authors_give_it) {
  EXPECT_EQ(hex(block_hash({})), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hex(block_hash(pattern(kBlockBytes))), "ed60596e9951c016513812aaf46c6769");
}

TEST(Digest, vectors_of_every_width_give_the_same_hash) {
  const os::CpuFeatures cpu = os::cpu_features();
  const Bytes block = pattern(5000);
  for (std::size_t bytes = 0; bytes <= block.size(); ++bytes) {
    BlockHash any;
    xxh3_any(block.data(), bytes, any.data());
    BlockHash wide = any;
    if (cpu.avx2) xxh3_avx2(block.data(), bytes, wide.data());
    ASSERT_EQ(hex(wide), hex(any)) << bytes;
    if (cpu.avx512) xxh3_avx512(block.data(), bytes, wide.data());
    ASSERT_EQ(hex(wide), hex(any)) << bytes;
  }
}

}  // namespace
}  // namespace edl::collective
