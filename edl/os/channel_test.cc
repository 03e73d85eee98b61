#include "edl/os/channel.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "edl/os/posix/system.h"
#include "edl/os/thread.h"

namespace edl::os {
namespace {

TEST(Channel, gives_everything_in_order_through_a_narrow_bound) {
  Channel<int> channel(3);
  constexpr int kItems = 20'000;
  Thread sender("sender", [&] {
    for (int i = 0; i < kItems; ++i) {
      int item = i;
      ASSERT_TRUE(channel.send(item, 60s));
    }
    channel.close();
  });
  int expected = 0;
  while (const auto item = channel.receive(60s)) EXPECT_EQ(*item, expected++);
  EXPECT_EQ(expected, kItems);
}

TEST(Channel, a_full_one_refuses_after_the_wait_and_keeps_the_item) {
  Channel<std::unique_ptr<int>> channel(1);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(channel.send(first, 1s));
  EXPECT_FALSE(channel.send(second, 1ms));
  ASSERT_NE(second, nullptr) << "a refused item stays with the sender";
  EXPECT_EQ(**channel.receive(1s), 1);
  EXPECT_TRUE(channel.send(second, 1s));
  EXPECT_EQ(**channel.receive(1s), 2);
}

TEST(Channel, what_was_accepted_is_received_after_close) {
  Channel<int> channel(4);
  int item = 7;
  EXPECT_TRUE(channel.send(item, 1s));
  channel.close();
  EXPECT_FALSE(channel.send(item, 1s));
  EXPECT_EQ(channel.receive(1s), 7);
  EXPECT_EQ(channel.receive(1s), std::nullopt);
}

TEST(Channel, close_wakes_those_who_wait) {
  Channel<int> empty(1);
  Channel<int> full(1);
  int item = 1;
  ASSERT_TRUE(full.send(item, 1s));
  {
    Thread receiver("receiver", [&] { EXPECT_EQ(empty.receive(1h), std::nullopt); });
    Thread sender("sender", [&] {
      int other = 2;
      EXPECT_FALSE(full.send(other, 1h));
    });
    empty.close();
    full.close();
  }
}

TEST(Thread, is_counted_and_gone_after_its_end) {
  const int before = thread_count();
  Channel<int> hold(1);
  {
    Thread thread("a-name-longer-than-fifteen", [&] { (void)hold.receive(1h); });
    EXPECT_EQ(thread_count(), before + 1);
    hold.close();
  }
  EXPECT_EQ(thread_count(), before);
}

TEST(Loop, runs_what_other_threads_post_in_the_order_of_each) {
  const auto sink = silent_log_sink();
  const auto system = posix_system({.log_sink = sink.get()});
  constexpr int kTasks = 5000;
  std::array<int, 2> next{};  // touched by the loop's thread only
  {
    const auto post_all = [&](std::size_t thread) {
      for (int i = 0; i < kTasks; ++i) {
        system->post([&, thread, i] {
          EXPECT_EQ(next[thread]++, i);
          if (next[0] == kTasks && next[1] == kTasks) system->finish(0);
        });
      }
    };
    Thread first("first", [&] { post_all(0); });
    Thread second("second", [&] { post_all(1); });
    const Pending limit = system->after(60s, [&] { system->finish(99); });
    EXPECT_EQ(system->run(), 0);
  }
}

}  // namespace
}  // namespace edl::os
