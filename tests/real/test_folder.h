// A folder that a test fills with files, and that is gone behind it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "edl/base/text.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"

namespace edl::tests {

class TestFolder {
 public:
  explicit TestFolder(const std::string& name)
      : path_(text("/tmp/edl-", name, "-", os::this_machine().pid)) {
    remove(path_);
    (void)disk().make_directory(path_);
  }
  ~TestFolder() { remove(path_); }

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return text(path_, "/", name); }
  // Answers its path.
  std::string write(const std::string& name, std::string_view bytes) {
    EDL_CHECK(os::replace_file(disk(), path(name), bytes_of(bytes)).ok());
    return path(name);
  }
  void append(const std::string& name, std::string_view bytes) {
    auto file = disk().open(path(name), os::Open::kAppend);
    EDL_CHECK(file.ok() && (*file)->append(bytes_of(bytes)).ok());
  }

 private:
  os::Disk& disk() { return system_->disk(); }
  void remove(const std::string& path) {
    if (const auto names = disk().list(path); names.ok()) {
      for (const std::string& name : *names) remove(text(path, "/", name));
    }
    (void)disk().remove(path);
  }

  std::unique_ptr<LogSink> sink_ = silent_log_sink();
  std::unique_ptr<os::PosixSystem> system_ = os::posix_system({.log_sink = sink_.get()});
  const std::string path_;
};

}  // namespace edl::tests
