#include "edl/wire/shared_bulk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "edl/base/random.h"

namespace edl::wire {
namespace {

constexpr std::uint64_t kRing = 64 << 10;

// A ring beside a record of which of its bytes are in use, and a receiver that tells what it has
// taken as seldom as it may.
struct Watched {
  // Whether there was room.
  bool place(std::uint64_t bytes) {
    const auto position = ring.place(bytes);
    if (!position) return false;
    const std::uint64_t offset = ring.offset(*position);
    EXPECT_LE(offset + bytes, kRing);
    for (std::uint64_t at = offset; at < offset + bytes; ++at) {
      if (used[at]) ADD_FAILURE() << "byte " << at << " is in use";
      used[at] = true;
    }
    there.push_back({*position, bytes});
    return true;
  }
  void take_all() {
    for (const PlacedBytes& one : there) {
      const std::uint64_t end = one.position + one.bytes;
      if (end - told >= kRing / 4) told = end;
    }
    EXPECT_TRUE(ring.take(told));
    while (!there.empty() && there.front().position < told) {
      const PlacedBytes one = there.front();
      there.pop_front();
      std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(ring.offset(one.position)), one.bytes,
                  false);
    }
  }

  Ring ring{kRing};
  std::vector<bool> used = std::vector<bool>(kRing);
  std::deque<PlacedBytes> there;
  std::uint64_t told = 0;
};

TEST(Ring, bytes_are_not_placed_over_others_and_a_quarter_always_fits) {
  Random random(7);
  Watched watched;
  int waited = 0;
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    if (watched.place(1 + random.below(kRing / 4))) continue;
    ++waited;
    watched.take_all();
    ASSERT_TRUE(watched.place(kRing / 4)) << "less than a quarter is not told";
  }
  EXPECT_GT(waited, 300);
}

TEST(Ring, what_was_not_placed_cannot_be_taken) {
  Ring ring(1000);
  EXPECT_EQ(ring.place(100), 0u);
  EXPECT_FALSE(ring.take(101));
  EXPECT_TRUE(ring.take(100));
  EXPECT_FALSE(ring.take(99));
}

}  // namespace
}  // namespace edl::wire
