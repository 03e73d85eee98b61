#include "edl/os/stage_test.h"

namespace edl::os {
namespace {

EDL_ON_BOTH_STAGES(Timers);

TEST_P(Timers, fire_in_order_and_never_early) {
  struct InOrder : Program {
    InOrder(System& system, Stage&) {
      for (const int ms : {30, 10, 20, 0}) {
        const Time due = system.now() + ms * 1ms;
        timers.push_back(system.after(ms * 1ms, [this, &system, due, ms] {
          EXPECT_GE(system.now(), due) << ms;
          fired.push_back(ms);
          if (fired.size() == 4) {
            EXPECT_EQ(fired, (std::vector<int>{0, 10, 20, 30}));
            system.finish(0);
          }
        }));
      }
      EXPECT_TRUE(fired.empty()) << "called back inside the call";
    }
    std::vector<Pending> timers;
    std::vector<int> fired;
  };
  play<InOrder>();
}

TEST_P(Timers, a_cancelled_one_never_fires_and_lets_go_of_what_it_holds) {
  struct Cancelled : Program {
    Cancelled(System& system, Stage&) {
      auto held = std::make_shared<int>(1);
      const std::weak_ptr<int> watched = held;
      cancelled = system.after(1ms, [held] { FAIL() << *held; });
      held.reset();
      EXPECT_FALSE(watched.expired());
      cancelled.cancel();
      EXPECT_TRUE(watched.expired());
      own = system.after(2ms, [this, &system] {
        own.cancel();  // its own handle, while it runs
        last = system.after(10ms, [&system] { system.finish(0); });
      });
    }
    Pending cancelled;
    Pending own;
    Pending last;
  };
  play<Cancelled>();
}

TEST_P(Timers, posted_tasks_run_in_order_after_the_caller) {
  struct Posted : Program {
    Posted(System& system, Stage&) {
      for (int i = 0; i < 3; ++i) {
        system.post([this, i, &system] {
          seen.push_back(i);
          if (i == 2) {
            EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
            system.finish(0);
          }
        });
      }
      EXPECT_TRUE(seen.empty());
    }
    std::vector<int> seen;
  };
  play<Posted>();
}

TEST_P(Timers, nothing_runs_after_finish) {
  struct Finished : Program {
    Finished(System& system, Stage&) {
      late = system.after(1ms, [] { FAIL() << "ran after finish"; });
      system.post([&system] {
        system.post([] { FAIL() << "ran after finish"; });
        system.finish(0);
      });
    }
    Pending late;
  };
  play<Finished>();
}

TEST_P(Timers, chance_and_the_wall_clock_are_there) {
  struct Chance : Program {
    Chance(System& system, Stage&) {
      Bytes a(32);
      Bytes b(32);
      system.fill_random(a);
      system.fill_random(b);
      EXPECT_NE(a, b);
      EXPECT_GT(system.wall_time().time_since_epoch(), 24h * 365 * 50);
      system.finish(0);
    }
  };
  play<Chance>();
}

EDL_ON_BOTH_STAGES(Disks);

struct DiskScene : Program {
  DiskScene(System& system, Stage& stage) : disk(system.disk()), root(stage.folder()) {
    system.post([&system] { system.finish(0); });
  }
  std::string content(const std::string& name) {
    const auto bytes = read_file(disk, root + "/" + name, 1 << 20);
    return bytes.ok() ? std::string(text_of(*bytes)) : bytes.error().message;
  }
  Disk& disk;
  std::string root;
};

TEST_P(Disks, files_hold_what_was_written) {
  struct Written : DiskScene {
    Written(System& system, Stage& stage) : DiskScene(system, stage) {
      const auto file = disk.open(root + "/f", Open::kCreateNew).value();
      EXPECT_TRUE(file->write_at(3, bytes_of("def")).ok());
      EXPECT_TRUE(file->write_at(0, bytes_of("abc")).ok());
      EXPECT_TRUE(file->sync().ok());
      EXPECT_EQ(content("f"), "abcdef");
      EXPECT_TRUE(file->truncate(2).ok());
      EXPECT_EQ(file->size().value(), 2u);
      Bytes buffer(10);
      EXPECT_EQ(file->read_at(1, buffer).value(), 1u);
      EXPECT_EQ(file->read_at(2, buffer).value(), 0u);
      EXPECT_EQ(disk.open(root + "/f", Open::kCreateNew).error().code, Code::kConflict);
      EXPECT_EQ(disk.open(root + "/none", Open::kRead).error().code, Code::kNotFound);
      EXPECT_EQ(disk.open(root + "/no/f", Open::kWrite).error().code, Code::kNotFound);
      EXPECT_FALSE(disk.open(root, Open::kWrite).ok());
      EXPECT_FALSE(disk.open(root + "/f", Open::kRead).value()->write_at(0, bytes_of("x")).ok());
    }
  };
  play<Written>();
}

TEST_P(Disks, names_can_be_changed_and_listed) {
  struct Names : DiskScene {
    Names(System& system, Stage& stage) : DiskScene(system, stage) {
      EXPECT_TRUE(disk.make_directory(root + "/a/b").ok());
      EXPECT_TRUE(disk.make_directory(root + "/a/b").ok());
      EXPECT_TRUE(replace_file(disk, root + "/a/b/old", bytes_of("old")).ok());
      EXPECT_TRUE(replace_file(disk, root + "/a/b/new", bytes_of("new")).ok());
      EXPECT_EQ(disk.list(root + "/a/b").value(), (std::vector<std::string>{"new", "old"}));
      EXPECT_TRUE(disk.rename(root + "/a/b/new", root + "/a/b/old").ok());
      EXPECT_EQ(content("a/b/old"), "new");
      EXPECT_EQ(disk.remove(root + "/a/b").error().code, Code::kConflict);
      EXPECT_TRUE(disk.rename(root + "/a/b", root + "/c").ok());
      EXPECT_EQ(content("c/old"), "new");
      EXPECT_TRUE(disk.remove(root + "/c/old").ok());
      EXPECT_TRUE(disk.remove(root + "/c").ok());
      EXPECT_FALSE(disk.exists(root + "/c"));
      EXPECT_EQ(disk.list(root + "/c").error().code, Code::kNotFound);
      EXPECT_EQ(disk.remove(root + "/c").error().code, Code::kNotFound);
      EXPECT_EQ(disk.rename(root + "/c", root + "/d").error().code, Code::kNotFound);
      EXPECT_TRUE(replace_file(disk, root + "/file", bytes_of("x")).ok());
      EXPECT_FALSE(disk.make_directory(root + "/file").ok());
      EXPECT_GT(disk.free_bytes(root).value(), 0u);
    }
  };
  play<Names>();
}

TEST_P(Disks, what_is_appended_never_overwrites) {
  struct Appended : DiskScene {
    Appended(System& system, Stage& stage) : DiskScene(system, stage) {
      const auto one = disk.open(root + "/f", Open::kAppend).value();
      const auto other = disk.open(root + "/f", Open::kAppend).value();
      EXPECT_TRUE(one->append(bytes_of("ab")).ok());
      EXPECT_TRUE(other->append(bytes_of("cd")).ok());
      EXPECT_TRUE(one->append(bytes_of("ef")).ok());
      EXPECT_EQ(content("f"), "abcdef");
      const auto third = disk.open(root + "/f", Open::kWrite).value();
      EXPECT_TRUE(third->append(bytes_of("gh")).ok());
      EXPECT_EQ(content("f"), "abcdefgh");
      EXPECT_FALSE(disk.open(root + "/f", Open::kRead).value()->append(bytes_of("x")).ok());
    }
  };
  play<Appended>();
}

TEST_P(Disks, a_lock_is_held_by_one) {
  struct Locked : DiskScene {
    Locked(System& system, Stage& stage) : DiskScene(system, stage) {
      auto first = disk.lock(root + "/lock");
      EDL_CHECK(first.ok());
      EXPECT_EQ(disk.lock(root + "/lock").error().code, Code::kConflict);
      first->reset();
      EXPECT_TRUE(disk.lock(root + "/lock").ok());
    }
  };
  play<Locked>();
}

TEST_P(Disks, reading_a_file_above_the_limit_is_refused) {
  struct TooLong : DiskScene {
    TooLong(System& system, Stage& stage) : DiskScene(system, stage) {
      EXPECT_TRUE(replace_file(disk, root + "/f", bytes_of("abcdef")).ok());
      EXPECT_EQ(read_file(disk, root + "/f", 5).error().code, Code::kExhausted);
    }
  };
  play<TooLong>();
}

}  // namespace
}  // namespace edl::os
