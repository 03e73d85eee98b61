// The same seed gives the same run: twice, in every build and on every machine. In a program of its
// own, so that no planted bug is found by a changed hash alone.
#include <gtest/gtest.h>

#include "edl/base/text.h"
#include "edl/os/virtual/chaos.h"
#include "edl/os/virtual/world.h"
#include "examples/lock/world.h"

namespace edl::os {
namespace {

// Every node asks a random other one now and then, and is answered.
class Gossip final : public Program {
 public:
  Gossip(System& system, int nodes) : system_(system), nodes_(nodes) {
    listener_ = system.network()
                    .listen({"0.0.0.0", 80, {}},
                            [this](auto stream) {
                              const ConstBytes piece = bytes_of("an answer");
                              served_.push_back(std::move(stream));
                              served_.back()->write(std::span(&piece, 1), [](auto) {});
                              if (served_.size() > 8) served_.erase(served_.begin());
                            })
                    .value();
    ask();
  }

 private:
  void ask() {
    Bytes chance(2);
    system_.fill_random(chance);
    const int other = std::to_integer<int>(chance[0]) % nodes_;
    pending_ = system_.network().connect({text("n", other), 80, {}}, 2s, [this](auto stream) {
      if (!stream.ok()) return;
      stream_ = std::move(stream).value();
      stream_->read(buffer_, [this](Result<std::size_t> got) {
        system_.log().info("answered", {{"bytes", got.ok() ? *got : 0}});
      });
    });
    timer_ = system_.after(50ms + 1ms * std::to_integer<int>(chance[1]), [this] { ask(); });
  }

  System& system_;
  int nodes_;
  Bytes buffer_ = Bytes(64);
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Stream>> served_;
  std::unique_ptr<Stream> stream_;
  Pending pending_;
  Pending timer_;
};

std::uint64_t gossip_hash(std::uint64_t seed, int nodes, Duration length) {
  VirtualWorld world({.seed = seed});
  world.install("gossip", [&](System& system, const Arguments&) {
    return std::make_unique<Gossip>(system, nodes);
  });
  for (int i = 0; i < nodes; ++i) world.add_node(text("n", i));
  for (int i = 0; i < nodes; ++i) world.keep_running(i, {"gossip"});
  unleash(world, {.length = length, .faults = 30});
  world.run_for(length);
  return world.trace().hash();
}

std::uint64_t lock_hash(std::uint64_t seed) {
  lock::LockWorld world({.seed = seed, .quiet = false});
  world.run();
  return world.world().trace().hash();
}

TEST(Trace, the_same_seed_gives_the_same_and_another_seed_another) {
  EXPECT_EQ(gossip_hash(7, 10, 60s), gossip_hash(7, 10, 60s));
  EXPECT_NE(gossip_hash(7, 10, 60s), gossip_hash(8, 10, 60s));
  EXPECT_EQ(lock_hash(1), lock_hash(1));
  EXPECT_NE(lock_hash(1), lock_hash(2));
}

// Written down once: they change only with what the world or the lock does.
TEST(Trace, is_the_same_on_every_machine_and_in_every_build) {
  EXPECT_EQ(gossip_hash(7, 10, 60s), 15345191509822099474u);
  EXPECT_EQ(lock_hash(1), 8433598074869147971u);
}

TEST(Trace, fifty_nodes_live_ten_minutes_in_seconds) { EXPECT_NE(gossip_hash(1, 50, 10min), 0u); }

}  // namespace
}  // namespace edl::os
