#include "edl/store/disk.h"

#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"

namespace edl::store {
namespace {

// Runs `body` as a process of its own on one machine, several times if wanted.
class Machine {
 public:
  Machine() : world_({.seed = 3, .quiet = true}) { world_.add_node("a"); }

  void run(const std::function<void(os::System&)>& body) {
    world_.install("body", [&](os::System& system, const os::Arguments&) {
      body(system);
      system.finish(0);
      return std::make_unique<os::Program>();
    });
    world_.start(0, {"body"});
    world_.run_for(1s);
  }
  os::VirtualWorld& world() { return world_; }

 private:
  os::VirtualWorld world_;
};

UnaryRequest random_request(Random& random, std::vector<LeaseId>& leases) {
  const std::string key(1, static_cast<char>('a' + random.below(6)));
  switch (random.below(8)) {
    case 0:
      return DeleteRangeRequest{.key = key};
    case 1:
      leases.push_back(static_cast<LeaseId>(random.below(1000) + 1));
      return LeaseGrantRequest{.ttl = 5, .id = leases.back()};
    case 2:
      return LeaseRevokeRequest{leases.empty() ? 1 : leases[random.below(leases.size())]};
    case 3:
      return CompactionRequest{.revision = static_cast<Revision>(random.below(200))};
    default:
      return PutRequest{.key = key,
                        .value = std::string(random.below(50), 'v'),
                        .lease = leases.empty() ? 0 : leases[random.below(leases.size())]};
  }
}

std::string picture(const StoreCore& core) {
  std::string out = text(core.history().revision(), "/", core.history().compacted(), ":");
  for (const auto& change : core.history().log()) {
    const Version& version = core.history().at(change);
    out += text(" ", version.place.value(), change.entry->first, version.value, version.lease, ",",
                version.version);
  }
  core.history().each([&](const KeyEntry& entry, const Version& version) {
    out += text(" ", entry.first, "=", version.value, "@", version.create_revision);
  });
  std::vector<LeaseId> ids = core.leases().ids();
  std::sort(ids.begin(), ids.end());
  for (const LeaseId id : ids) {
    out += text(" lease ", id);
    for (const std::string& key : core.leases().find(id)->keys) out += text(" ", key);
  }
  return out;
}

TEST(StoreDisk, what_was_committed_is_what_is_loaded) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Machine machine;
    Random random(seed);
    std::vector<LeaseId> leases;
    std::string expected;
    for (int life = 0; life < 4; ++life) {
      machine.run([&](os::System& system) {
        auto disk = StoreDisk::open(system, "/store").value();
        StoreCore core(disk->load().value(), {}, seed, system.now());
        if (life > 0) {
          EXPECT_EQ(picture(core), expected) << "seed " << seed;
        }
        for (int i = 0; i < 40; ++i) {
          core.apply(random_request(random, leases), system.now());
          if (random.once_in(3)) {
            ASSERT_TRUE(disk->commit(core.take_changes(), core.history()).ok());
          }
          if (random.once_in(9) && disk->wants_rest()) {
            ASSERT_TRUE(disk->rest().ok());
          }
        }
        ASSERT_TRUE(disk->commit(core.take_changes(), core.history()).ok());
        expected = picture(core);
        if (random.once_in(2)) {
          ASSERT_TRUE(disk->close().ok());
        }
      });
      if (random.once_in(2)) {
        machine.world().cut_power(0);
        machine.world().boot(0);
      }
    }
  }
}

TEST(StoreDisk, the_write_ahead_file_does_not_grow_without_end) {
  Machine machine;
  machine.run([&](os::System& system) {
    auto disk = StoreDisk::open(system, "/store").value();
    StoreCore core(disk->load().value(), {}, 1, system.now());
    int rests = 0;
    for (int i = 0; i < 300; ++i) {
      core.apply(PutRequest{.key = "a", .value = std::string(80 << 10, 'v')}, system.now());
      ASSERT_TRUE(disk->commit(core.take_changes(), core.history()).ok());
      for (; disk->wants_rest(); ++rests) ASSERT_TRUE(disk->rest().ok());
    }
    EXPECT_GE(rests, 2);
    const auto ahead = system.disk().open("/store/store.db-wal", os::Open::kRead).value();
    EXPECT_LT(ahead->size().value(), 12u << 20);
  });
}

TEST(StoreDisk, a_full_disk_commits_nothing_and_recovers) {
  Machine machine;
  machine.run([&](os::System& system) {
    auto disk = StoreDisk::open(system, "/store").value();
    StoreCore core(disk->load().value(), {}, 1, system.now());
    core.apply(PutRequest{.key = "a", .value = "1"}, system.now());
    ASSERT_TRUE(disk->commit(core.take_changes(), core.history()).ok());
    machine.world().disk(0).limit_bytes(1);
    core.apply(PutRequest{.key = "a", .value = "2"}, system.now());
    EXPECT_EQ(disk->commit(core.take_changes(), core.history()).error().code, Code::kExhausted);
    machine.world().disk(0).unlimit();
    StoreCore again(disk->load().value(), {}, 1, system.now());
    EXPECT_EQ(again.history().find("a")->value, "1");
    again.apply(PutRequest{.key = "a", .value = "3"}, system.now());
    EXPECT_TRUE(disk->commit(again.take_changes(), again.history()).ok());
  });
}

TEST(StoreDisk, a_damaged_entry_is_noticed) {
  Machine machine;
  machine.run([&](os::System& system) {
    auto disk = StoreDisk::open(system, "/store").value();
    StoreCore core(disk->load().value(), {}, 1, system.now());
    core.apply(PutRequest{.key = "a", .value = std::string(600, 'v')}, system.now());
    ASSERT_TRUE(disk->commit(core.take_changes(), core.history()).ok());
    ASSERT_TRUE(disk->close().ok());
  });
  std::uint64_t offset = 0;
  machine.run([&](os::System& system) {
    const Bytes bytes = os::read_file(system.disk(), "/store/store.db", 1 << 20).value();
    offset = text_of(bytes).find("vvvvvvvv");
    ASSERT_NE(offset, std::string_view::npos);
  });
  machine.world().disk(0).flip_bit("/store/store.db", offset + 100);
  machine.run([&](os::System& system) {
    auto disk = StoreDisk::open(system, "/store").value();
    const auto loaded = disk->load();
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, Code::kCorrupt);
    EXPECT_NE(loaded.error().message.find("/store/store.db"), std::string::npos);
  });
}

TEST(StoreDisk, one_server_at_a_time) {
  struct Holder final : os::Program {
    std::unique_ptr<StoreDisk> disk;
  };
  Machine machine;
  os::VirtualWorld& world = machine.world();
  world.install("first", [&](os::System& system, const os::Arguments&) {
    auto holder = std::make_unique<Holder>();
    holder->disk = StoreDisk::open(system, "/store").value();
    return holder;
  });
  world.start(0, {"first"});
  world.run_for(1s);
  bool tried = false;
  machine.run([&](os::System& system) {
    const auto second = StoreDisk::open(system, "/store");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Code::kConflict);
    tried = true;
  });
  EXPECT_TRUE(tried);
}

}  // namespace
}  // namespace edl::store
