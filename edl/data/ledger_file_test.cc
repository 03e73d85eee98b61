#include "edl/data/ledger_file.h"

#include <gtest/gtest.h>

#include "edl/data/views_file.h"
#include "edl/os/machine_test.h"

namespace edl::data {
namespace {

using model::Step;
using os::Machine;

LedgerLines steps(std::uint64_t from, std::uint64_t to) {
  LedgerLines lines;
  for (std::uint64_t step = from; step <= to; ++step) {
    lines.push_back({.generation = model::Generation(1),
                     .step = Step(step),
                     .epoch = model::Epoch(0),
                     .position = (step - 1) * 10,
                     .samples = 10});
    lines.back().digest[0] = static_cast<std::byte>(step);
  }
  return lines;
}

TEST(LedgerFile, what_was_appended_is_read_again_and_continued) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    const auto file = LedgerFile::open(disk, "/a.ledger").value();
    ASSERT_TRUE(file->append(steps(1, 5)).ok());
    ASSERT_TRUE(file->append(steps(6, 6)).ok());
    const LedgerRead read = read_ledger(disk, "/a.ledger").value();
    EXPECT_EQ(read.lines, file->ledger().records());
    EXPECT_EQ(read.end, LedgerEnd::kWhole);
    const auto again = LedgerFile::open(disk, "/a.ledger").value();
    ASSERT_TRUE(again->append(steps(7, 9)).ok());
    EXPECT_EQ(read_ledger(disk, "/a.ledger")->lines.size(), 9u);
    EXPECT_EQ(again->append(steps(5, 5)).error().code, Code::kCorrupt);
  });
}

TEST(LedgerFile, a_joiner_copies_it_in_ranges) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    const auto giver = LedgerFile::open(disk, "/a.ledger").value();
    ASSERT_TRUE(giver->append(steps(1, 25)).ok());
    const auto joiner = LedgerFile::open(disk, "/b.ledger").value();
    for (std::uint64_t from = 1; from <= 25; from += 10) {
      const Bytes bytes = encode_records(giver->ledger(), Step(from), 10);
      EXPECT_FALSE(decode_records(bytes, 4).ok());
      ASSERT_TRUE(joiner->append_chained(decode_records(bytes, 10).value()).ok());
    }
    EXPECT_EQ(read_ledger(disk, "/a.ledger")->lines, read_ledger(disk, "/b.ledger")->lines);
    EXPECT_FALSE(decode_records(Bytes(119), 10).ok());
    EXPECT_FALSE(decode_records(Bytes(120), 10).ok());
  });
}

TEST(LedgerFile, a_power_cut_at_any_call_keeps_what_was_synced) {
  std::uint64_t torn = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (std::uint64_t call = 1; call < 9; ++call) {
      Machine machine(seed * 100 + call);
      std::uint64_t synced = 0;
      machine.run([](os::Disk& disk) {
        ASSERT_TRUE(LedgerFile::open(disk, "/a.ledger").ok());
        ASSERT_TRUE(disk.sync_directory("/").ok());
      });
      machine.world().cut_power_at_disk_call(0, call);
      machine.run([&](os::Disk& disk) {
        const auto file = LedgerFile::open(disk, "/a.ledger");
        if (!file.ok()) return;
        for (const std::uint64_t last : {20, 40, 60}) {
          (void)(*file)->append(steps(last - 19, last));
          if ((*file)->sync().ok()) synced = last;
        }
      });
      machine.recover();
      machine.run([&](os::Disk& disk) {
        torn += read_ledger(disk, "/a.ledger")->end == LedgerEnd::kWhole ? 0 : 1;
        const auto file = LedgerFile::open(disk, "/a.ledger");
        ASSERT_TRUE(file.ok()) << seed << " " << call << ": " << file.error().message;
        const std::uint64_t last = (*file)->ledger().last_step().value();
        EXPECT_GE(last, synced);
        ASSERT_TRUE((*file)->append(steps(last + 1, last + 1)).ok());
        EXPECT_EQ(read_ledger(disk, "/a.ledger")->end, LedgerEnd::kWhole);
      });
    }
  }
  EXPECT_GT(torn, 20u);
}

TEST(LedgerFile, a_full_disk_loses_nothing) {
  Machine machine;
  machine.run([&](os::Disk& disk) {
    const auto file = LedgerFile::open(disk, "/a.ledger").value();
    machine.disk().limit_bytes(300);
    EXPECT_EQ(file->append(steps(1, 3)).error().code, Code::kExhausted);
    machine.disk().unlimit();
    ASSERT_TRUE(file->append(steps(4, 4)).ok());
    EXPECT_EQ(read_ledger(disk, "/a.ledger")->lines.size(), 4u);
  });
}

TEST(LedgerFile, every_changed_byte_is_found) {
  Machine machine;
  machine.run([&](os::Disk& disk) {
    const auto file = LedgerFile::open(disk, "/a.ledger").value();
    ASSERT_TRUE(file->append(steps(1, 4)).ok());
    for (std::uint64_t at = 0; at < 4 * model::kLedgerRecordBytes; ++at) {
      machine.disk().flip_bit("/a.ledger", at);
      const LedgerRead read = read_ledger(disk, "/a.ledger").value();
      EXPECT_EQ(read.end, LedgerEnd::kDamaged) << at;
      EXPECT_EQ(read.lines.size(), at / model::kLedgerRecordBytes);
      EXPECT_EQ(LedgerFile::open(disk, "/a.ledger").error().code, Code::kCorrupt);
      machine.disk().flip_bit("/a.ledger", at);
    }
  });
}

model::View view(std::uint64_t generation) {
  model::View out;
  out.generation = model::Generation(generation);
  out.first_step = Step(generation);
  out.members.push_back({"w-1", "", "", {model::LogicalWorker(0)}});
  out.batch = model::undivided_batch(10, 1);
  return out;
}

TEST(ViewsFile, each_view_is_kept_once) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    const auto file = ViewsFile::open(disk, "/a.views").value();
    for (const std::uint64_t generation : {1, 2, 2, 1, 5}) {
      ASSERT_TRUE(file->append(view(generation)).ok());
    }
    const auto views = read_views(disk, "/a.views").value();
    ASSERT_EQ(views.size(), 3u);
    EXPECT_EQ(views[2], view(5));
  });
}

TEST(ViewsFile, a_cut_line_is_removed_and_a_wrong_one_is_refused) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    ASSERT_TRUE(ViewsFile::open(disk, "/a.views").value()->append(view(1)).ok());
    const auto raw = disk.open("/a.views", os::Open::kAppend).value();
    ASSERT_TRUE(raw->append(bytes_of("{\"generation\":2,\"mem")).ok());
    EXPECT_EQ(read_views(disk, "/a.views")->size(), 1u);
    ASSERT_TRUE(ViewsFile::open(disk, "/a.views").value()->append(view(2)).ok());
    EXPECT_EQ(read_views(disk, "/a.views")->size(), 2u);
    ASSERT_TRUE(raw->append(bytes_of("{}\n")).ok());
    EXPECT_EQ(read_views(disk, "/a.views").error().code, Code::kCorrupt);
  });
}

TEST(ViewsFile, a_hole_in_the_last_line_is_what_a_power_cut_left) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    ASSERT_TRUE(ViewsFile::open(disk, "/a.views").value()->append(view(1)).ok());
    const auto raw = disk.open("/a.views", os::Open::kAppend).value();
    const std::string torn = "{\"generation\":2," + std::string(512, '\0') + "\"epoch\":1}\n";
    ASSERT_TRUE(raw->append(bytes_of(torn)).ok());
    EXPECT_EQ(read_views(disk, "/a.views")->size(), 1u);
    ASSERT_TRUE(ViewsFile::open(disk, "/a.views").value()->append(view(3)).ok());
    EXPECT_EQ(read_views(disk, "/a.views")->size(), 2u);

    ASSERT_TRUE(raw->append(bytes_of(torn)).ok());
    ASSERT_TRUE(raw->append(bytes_of(json_line(Json(view(4))) + "\n")).ok());
    EXPECT_EQ(read_views(disk, "/a.views").error().code, Code::kCorrupt) << "views follow it";
  });
}

}  // namespace
}  // namespace edl::data
