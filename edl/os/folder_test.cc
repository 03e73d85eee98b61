#include "edl/os/folder.h"

#include <gtest/gtest.h>

#include "edl/base/text.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"

namespace edl::os {
namespace {

class Folders : public ::testing::Test {
 protected:
  Folders() { EXPECT_TRUE(system_->disk().make_directory(folder_ + "/inner").ok()); }
  ~Folders() override {
    const auto names = system_->disk().list(folder_).value();
    for (const std::string& name : names) {
      EXPECT_TRUE(system_->disk().remove(text(folder_, "/", name)).ok());
    }
    EXPECT_TRUE(system_->disk().remove(folder_).ok());
  }
  void write(const std::string& name, std::string_view words) {
    EXPECT_TRUE(replace_file(system_->disk(), text(folder_, "/", name), bytes_of(words)).ok());
  }

  const std::string folder_ = text(::testing::TempDir(), "/folder-", this_machine().pid);
  std::unique_ptr<LogSink> sink_ = silent_log_sink();
  std::unique_ptr<PosixSystem> system_ = posix_system({.log_sink = sink_.get()});
};

TEST_F(Folders, entries_come_by_the_bytes_of_their_names_with_sizes) {
  write("b", "12");
  write("\xC3\xA4", "123");
  write("B", "");
  const auto entries = list_folder(folder_, 10).value();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].name, "B");
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_EQ(entries[1].bytes, 2U);
  EXPECT_FALSE(entries[1].is_folder);
  EXPECT_EQ(entries[2].name, "inner");
  EXPECT_TRUE(entries[2].is_folder);
  EXPECT_EQ(entries[3].name, "\xC3\xA4");
}

TEST_F(Folders, more_entries_than_the_limit_are_refused) {
  write("a", "");
  EXPECT_TRUE(list_folder(folder_, 2).ok());
  EXPECT_EQ(list_folder(folder_, 1).error().code, Code::kExhausted);
}

TEST_F(Folders, a_folder_that_is_not_there_is_refused) {
  EXPECT_EQ(list_folder(folder_ + "/none", 10).error().code, Code::kNotFound);
}

TEST_F(Folders, what_is_touched_has_changed_last) {
  write("a", "");
  write("b", "");
  const auto before = list_folder(folder_, 10).value();
  // The clock of files moves in ticks: touched until it has moved.
  while (list_folder(folder_, 10).value()[0].changed <= before[1].changed) {
    ASSERT_TRUE(touch(folder_ + "/a").ok());
  }
  EXPECT_EQ(touch(folder_ + "/none").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace edl::os
