#include "edl/os/mapped_file.h"

#include <gtest/gtest.h>

#include "edl/base/text.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"

namespace edl::os {
namespace {

class MappedFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view words) {
    const std::string path = text(::testing::TempDir(), "/mapped-", this_machine().pid, "-", name);
    EXPECT_TRUE(replace_file(system_->disk(), path, bytes_of(words)).ok());
    return path;
  }
  void remove(const std::string& path) { EXPECT_TRUE(system_->disk().remove(path).ok()); }

 private:
  std::unique_ptr<LogSink> sink_ = silent_log_sink();
  std::unique_ptr<PosixSystem> system_ = posix_system({.log_sink = sink_.get()});
};

TEST_F(MappedFiles, holds_what_the_file_holds_also_after_its_name_is_gone) {
  const std::string path = write("words", "as written");
  const auto file = MappedFile::open(path).value();
  EXPECT_EQ(text_of(file->bytes()), "as written");
  remove(path);
  EXPECT_EQ(text_of(file->bytes()), "as written");
}

TEST_F(MappedFiles, an_empty_file_has_no_bytes) {
  const std::string path = write("empty", "");
  EXPECT_TRUE(MappedFile::open(path).value()->bytes().empty());
  remove(path);
}

TEST_F(MappedFiles, what_is_no_file_is_refused_with_its_name) {
  const auto missing = MappedFile::open("/nowhere/images");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("/nowhere/images"), std::string::npos);
  const auto folder = MappedFile::open("/");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace edl::os
