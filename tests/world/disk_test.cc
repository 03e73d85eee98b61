// The virtual disk under power cuts: what was synced stays, a rename is all or nothing, and what
// was not synced really gets lost, torn and reordered (or these tests would prove nothing).
#include <gtest/gtest.h>

#include "edl/base/text.h"
#include "edl/os/virtual/world.h"
#include "tests/world/seeds.h"

namespace edl::os {
namespace {

constexpr const char* kPath = "/data/value";

std::string value_of(int version) {
  std::string value = text("version ", version, " ");
  while (value.size() < 3000) value += static_cast<char>('a' + version % 26);
  return value;
}

// Replaces one file again and again; `written` tells the test what was promised.
class Replacer final : public Program {
 public:
  Replacer(System& system, int& promised, bool careful)
      : system_(system), promised_(promised), careful_(careful) {
    EXPECT_TRUE(system.disk().make_directory("/data").ok());
    EXPECT_TRUE(system.disk().sync_directory("/").ok());
    write();
  }

 private:
  void write() {
    const std::string value = value_of(++attempt_);
    if (replace(value).ok()) promised_ = attempt_;
    timer_ = system_.after(1ms, [this] { write(); });
  }

  Result<void> replace(const std::string& value) {
    if (careful_) return replace_file(system_.disk(), kPath, bytes_of(value));
    EDL_TRY(const auto file, system_.disk().open(kPath, Open::kWrite));
    EDL_TRY(file->truncate(0));
    return file->write_at(0, bytes_of(value));
  }

  System& system_;
  int& promised_;
  bool careful_;
  int attempt_ = promised_;
  Pending timer_;
};

struct Outcome {
  int lost = 0;   // older than promised
  int whole = 0;  // a version, complete
  int torn = 0;   // no version at all
};

// Cuts the power some times and looks at the file after each.
Outcome run(std::uint64_t seed, bool careful,
            std::map<std::string, std::uint64_t, std::less<>>& hits) {
  VirtualWorld world({.seed = seed, .quiet = true});
  const int node = world.add_node("a");
  int promised = 0;
  world.install("replacer", [&](System& system, const Arguments&) {
    return std::make_unique<Replacer>(system, promised, careful);
  });
  world.keep_running(node, {"replacer"});
  Outcome outcome;
  for (int cut = 0; cut < 5; ++cut) {
    world.run_for(world.random().between(Duration(20ms), Duration(40ms)));
    // Inside the next write, between any two of its calls.
    world.cut_power_at_disk_call(node, world.random().below(6));
    EXPECT_TRUE(world.run_until([&] { return !world.is_up(node); }, 1s));
    auto disk = world.disk(node).face(1, [] { return true; });
    const auto bytes = read_file(*disk, kPath, 1 << 20);
    const std::string found = bytes.ok() ? std::string(text_of(*bytes)) : "";
    int version = 0;
    for (int v = promised + 1; v > 0 && version == 0; --v) version = found == value_of(v) ? v : 0;
    outcome.torn += version == 0 && promised > 0 ? 1 : 0;
    outcome.whole += version > 0 ? 1 : 0;
    outcome.lost += version < promised ? 1 : 0;
    promised = version;  // continue from what is there
    world.boot(node);
  }
  hits = world.trace().hits();
  return outcome;
}

TEST(VirtualDisk, a_replaced_file_is_old_or_new_and_never_older_than_promised) {
  tests::HitTable table({"fault.power_cut_between_calls", "fault.disk_lost_name"});
  tests::for_each_seed(300, [&](std::uint64_t seed) {
    std::map<std::string, std::uint64_t, std::less<>> hits;
    const Outcome outcome = run(seed, true, hits);
    table.add(hits);
    EXPECT_EQ(outcome.torn, 0);
    EXPECT_EQ(outcome.lost, 0);
    EXPECT_GT(outcome.whole, 0);
  });
  table.judge();
}

TEST(VirtualDisk, a_careless_writer_loses_and_tears) {
  tests::HitTable table({"fault.power_cut", "fault.disk_lost_write", "fault.disk_torn_write",
                         "fault.disk_reorder", "fault.disk_lost_name"});
  Outcome all;
  tests::for_each_seed(300, [&](std::uint64_t seed) {
    std::map<std::string, std::uint64_t, std::less<>> hits;
    const Outcome outcome = run(seed, false, hits);
    all.lost += outcome.lost;
    all.torn += outcome.torn;
    table.add(hits);
  });
  EXPECT_GT(all.lost, 0);
  EXPECT_GT(all.torn, 0);
  table.judge();
}

// A rename in the middle of changes to names: after any power cut each name holds one whole value.
TEST(VirtualDisk, a_rename_is_never_seen_half_done) {
  int before = 0;
  int after = 0;
  tests::for_each_seed(400, [&](std::uint64_t seed) {
    VirtualWorld world({.seed = seed, .quiet = true});
    const int node = world.add_node("a");
    {
      const auto disk = world.disk(node).face(1, [] { return true; });
      ASSERT_TRUE(replace_file(*disk, "/old", bytes_of("old")).ok());
      ASSERT_TRUE(replace_file(*disk, "/new", bytes_of("new")).ok());
      ASSERT_TRUE(disk->rename("/new", "/old").ok());  // not synced: may or may not survive
    }
    world.cut_power(node);
    const auto disk = world.disk(node).face(1, [] { return true; });
    const auto old_bytes = read_file(*disk, "/old", 100);
    ASSERT_TRUE(old_bytes.ok()) << "the name is gone: " << old_bytes.error().message;
    const std::string value(text_of(*old_bytes));
    const bool has_new = disk->exists("/new");
    EXPECT_TRUE((value == "old" && has_new) || (value == "new" && !has_new)) << value << has_new;
    before += value == "old" ? 1 : 0;
    after += value == "new" ? 1 : 0;
  });
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
}

TEST(VirtualDisk, full_disks_failed_syncs_and_flipped_bits_are_told) {
  VirtualWorld world({.seed = 1, .quiet = true});
  const int node = world.add_node("a");
  const auto disk = world.disk(node).face(1, [] { return true; });
  const auto file = disk->open("/f", Open::kWrite).value();
  ASSERT_TRUE(file->write_at(0, bytes_of("abc")).ok());
  world.disk(node).fail_next_sync();
  EXPECT_EQ(file->sync().error().code, Code::kUnavailable);
  EXPECT_TRUE(file->sync().ok()) << "told once, as Linux does";
  world.disk(node).limit_bytes(3);
  EXPECT_EQ(file->write_at(3, bytes_of("d")).error().code, Code::kExhausted);
  EXPECT_TRUE(file->write_at(0, bytes_of("x")).ok()) << "overwriting needs no room";
  EXPECT_EQ(disk->free_bytes("/").value(), 0u);
  world.disk(node).flip_bit("/f", 1);
  EXPECT_NE(text_of(read_file(*disk, "/f", 10).value()), "xbc");
}

}  // namespace
}  // namespace edl::os
