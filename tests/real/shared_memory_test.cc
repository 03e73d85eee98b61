// Memory that a process lends to another, as the kernel gives it.
#include <gtest/gtest.h>
#include <unistd.h>

#include "edl/base/text.h"
#include "edl/os/posix/system.h"
#include "edl/wire/shared_bulk.h"

namespace edl::wire {
namespace {

constexpr std::uint64_t kRing = 64 << 10;

struct Memories : testing::Test {
  std::unique_ptr<LogSink> sink = silent_log_sink();
  std::unique_ptr<os::PosixSystem> system = os::posix_system({.log_sink = sink.get()});
  std::shared_ptr<SharedMemoryBudget> budget = std::make_shared<SharedMemoryBudget>(
      SharedMemoryBudget{.ring_bytes = kRing, .placed_bytes_min = 16, .bytes_left = 2 * kRing});
};

TEST_F(Memories, what_is_put_is_seen_by_who_was_invited) {
  const auto lent = LentMemory::make(*system, budget).value();
  EXPECT_FALSE(lent->takes(100)) << "nobody sees it yet";
  const auto borrowed = BorrowedMemory::find(*system, lent->invitation()).value();
  lent->mapped();
  EXPECT_TRUE(lent->takes(100));
  EXPECT_FALSE(lent->takes(15));
  EXPECT_FALSE(lent->takes(kRing / 4 + 1));
  const Bytes bytes = copy_bytes(bytes_of("sixteen bytes..."));
  const auto placed = lent->put(bytes);
  ASSERT_TRUE(placed);
  const auto seen = borrowed->at(decode_placed(encode(*placed)).value());
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(std::equal(seen->begin(), seen->end(), bytes.begin(), bytes.end()));
}

TEST_F(Memories, places_outside_the_ring_are_refused) {
  const auto lent = LentMemory::make(*system, budget).value();
  const auto borrowed = BorrowedMemory::find(*system, lent->invitation()).value();
  EXPECT_FALSE(borrowed->at({kRing - 1, 2}).ok());
  EXPECT_FALSE(borrowed->at({0, kRing + 1}).ok());
  EXPECT_FALSE(borrowed->at({5, ~std::uint64_t{0}}).ok());
  EXPECT_TRUE(borrowed->at({3 * kRing, 2}).ok());
  EXPECT_FALSE(decode_placed(bytes_of("too short")).ok());
}

TEST_F(Memories, another_memory_at_that_place_is_refused) {
  const auto lent = LentMemory::make(*system, budget).value();
  Json invitation = lent->invitation();
  invitation["check"] = std::string(64, '0');
  EXPECT_FALSE(BorrowedMemory::find(*system, invitation).ok());
  for (const char* place : {"", "1", "1/2/3", "self/3", "../1/3", "99999999999/1", "1/0x1"}) {
    invitation["place"] = place;
    EXPECT_FALSE(BorrowedMemory::find(*system, invitation).ok()) << place;
  }
  invitation["place"] = text(::getpid(), "/0");  // a descriptor, but of no such memory
  EXPECT_FALSE(BorrowedMemory::find(*system, invitation).ok());
}

TEST_F(Memories, the_budget_is_kept) {
  auto one = LentMemory::make(*system, budget);
  auto other = LentMemory::make(*system, budget);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_FALSE(LentMemory::make(*system, budget).ok());
  one->reset();
  EXPECT_TRUE(LentMemory::make(*system, budget).ok());
}

}  // namespace
}  // namespace edl::wire
