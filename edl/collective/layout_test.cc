#include "edl/collective/layout.h"

#include <gtest/gtest.h>

#include "edl/base/random.h"

namespace edl::collective {
namespace {

Layout random_layout(Random& random) {
  std::vector<Segment> segments;
  const auto count = random.below(5) + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto element = static_cast<Element>(random.below(5));
    segments.push_back({element, random.once_in(4) ? random.below(10) : random.below(3'000'000)});
  }
  segments.push_back({Element::kF32, 1});
  return Layout(segments);
}

TEST(Layout, chunks_are_the_whole_space_in_order_and_never_cross_a_segment) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const Layout layout = random_layout(random);
    const auto members = static_cast<std::uint32_t>(random.below(9) + 1);
    std::vector<Range> reduced(layout.segments().size());
    std::vector<Range> sums(layout.segments().size());
    std::uint32_t blocks = 0;
    model::Rank owner;
    for (const Chunk& chunk : layout.chunks(members)) {
      Range& at = reduced[chunk.segment];
      EXPECT_EQ(chunk.reduced.offset, layout.reduced(chunk.segment).offset + at.bytes);
      EXPECT_EQ(chunk.sums.offset, layout.sums(chunk.segment).offset + sums[chunk.segment].bytes);
      at.bytes += chunk.reduced.bytes;
      sums[chunk.segment].bytes += chunk.sums.bytes;
      EXPECT_GT(chunk.reduced.bytes, 0u);
      EXPECT_LE(chunk.sums.bytes, kChunkBytesMax);
      EXPECT_EQ(chunk.first_block, blocks);
      EXPECT_EQ(chunk.blocks, (chunk.reduced.bytes + kBlockBytes - 1) / kBlockBytes);
      blocks += chunk.blocks;
      EXPECT_GE(chunk.owner, owner);
      owner = chunk.owner;
      EXPECT_LT(owner.value(), members);
    }
    EXPECT_EQ(blocks, layout.blocks());
    for (std::size_t s = 0; s < layout.segments().size(); ++s) {
      EXPECT_EQ(reduced[s].bytes, layout.reduced(s).bytes);
      EXPECT_EQ(sums[s].bytes, layout.sums(s).bytes);
      EXPECT_EQ(layout.reduced(s).offset % kAlignment, 0u);
      EXPECT_EQ(layout.sums(s).offset % kAlignment, 0u);
    }
  }
}

TEST(Layout, owners_have_about_the_same) {
  const Layout layout({{Element::kF32, 25'000'000}});
  for (const std::uint32_t members : {1u, 2u, 3u, 7u, 64u}) {
    std::vector<std::uint64_t> owned(members);
    for (const Chunk& chunk : layout.chunks(members)) {
      owned[chunk.owner.value()] += chunk.reduced.bytes;
    }
    for (const std::uint64_t bytes : owned) {
      EXPECT_LE(bytes, 100'000'000 / members + kBlockBytes);
      EXPECT_GE(bytes, 100'000'000 / members - kBlockBytes);
    }
  }
}

TEST(Layout, chunks_are_large_where_there_is_enough_and_a_little_has_one_owner) {
  const Layout large({{Element::kF32, 25'000'000}});
  std::size_t small = 0;
  for (const Chunk& chunk : large.chunks(4)) small += chunk.sums.bytes < kChunkBytesMin ? 1 : 0;
  EXPECT_LE(small, 4u) << "the last of each owner at most";
  const Layout little({{Element::kF32, 1000}, {Element::kI64, 3}});
  for (const Chunk& chunk : little.chunks(8)) EXPECT_EQ(chunk.owner, model::Rank(0));
}

TEST(Layout, partial_sums_of_small_types_are_twice_as_long) {
  const Layout layout({{Element::kBf16, 100'001}, {Element::kF64, 3}, {Element::kF16, 1}});
  EXPECT_EQ(layout.reduced(0), (Range{0, 200'002}));
  EXPECT_EQ(layout.sums(0), (Range{0, 400'004}));
  EXPECT_EQ(layout.reduced(1), (Range{200'064, 24}));
  EXPECT_EQ(layout.sums(1), (Range{400'064, 24}));
  EXPECT_EQ(layout.reduced_bytes(), 200'064u + 64 + 64);
  EXPECT_EQ(layout.blocks(), 4u + 1 + 1);
}

}  // namespace
}  // namespace edl::collective
