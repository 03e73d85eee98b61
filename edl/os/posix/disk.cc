#include "edl/os/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "edl/base/text.h"
#include "edl/os/posix/descriptor.h"
#include "edl/os/posix/parts.h"

namespace edl::os {
namespace {

class PosixFile final : public File {
 public:
  PosixFile(Descriptor descriptor, std::string path, Open mode)
      : descriptor_(std::move(descriptor)), path_(std::move(path)), mode_(mode) {}

  Result<std::size_t> read_at(std::uint64_t offset, ByteSpan into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got = ::pread(descriptor_.number(), into.data() + done, into.size() - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return os_error(errno, text("read ", path_));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<void> write_at(std::uint64_t offset, ConstBytes bytes) override {
    EDL_CHECK(mode_ != Open::kAppend, "a file that was opened for appending has no offsets");
    while (!bytes.empty()) {
      const ssize_t put =
          ::pwrite(descriptor_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return os_error(errno, text("write ", path_));
      offset += static_cast<std::uint64_t>(put);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
  }

  Result<void> append(ConstBytes bytes) override {
    if (mode_ != Open::kAppend) {
      EDL_TRY(const std::uint64_t end, size());
      return write_at(end, bytes);
    }
    ssize_t put = -1;
    do {
      put = ::write(descriptor_.number(), bytes.data(), bytes.size());
    } while (put < 0 && errno == EINTR);
    if (put < 0) return os_error(errno, text("append to ", path_));
    if (static_cast<std::size_t>(put) == bytes.size()) return {};
    return Error{Code::kExhausted, text("cannot append to ", path_, ": only ", put, " of ",
                                        bytes.size(), " bytes found room")};
  }

  Result<std::uint64_t> size() override {
    struct stat status {};
    if (::fstat(descriptor_.number(), &status) != 0)
      return os_error(errno, text("look at ", path_));
    return static_cast<std::uint64_t>(status.st_size);
  }

  Result<void> truncate(std::uint64_t bytes) override {
    if (::ftruncate(descriptor_.number(), static_cast<off_t>(bytes)) == 0) return {};
    return os_error(errno, text("truncate ", path_));
  }

  Result<void> sync() override {
    if (::fdatasync(descriptor_.number()) == 0) return {};
    return os_error(errno, text("sync ", path_));
  }

 private:
  Descriptor descriptor_;
  std::string path_;
  Open mode_;
};

class PosixDiskLock final : public DiskLock {
 public:
  explicit PosixDiskLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  Descriptor descriptor_;  // the kernel drops the lock when it is closed
};

Result<Descriptor> open_descriptor(const std::string& path, int flags, mode_t mode = 0666) {
  Descriptor descriptor(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!descriptor.valid()) return os_error(errno, text("open ", path));
  return descriptor;
}

int open_flags(Open mode) {
  switch (mode) {
    case Open::kRead:
      return O_RDONLY;
    case Open::kWrite:
      return O_RDWR | O_CREAT;
    case Open::kCreateNew:
    case Open::kCreatePrivate:
      return O_RDWR | O_CREAT | O_EXCL;
    case Open::kAppend:
      return O_RDWR | O_CREAT | O_APPEND;
  }
  return O_RDONLY;
}

class PosixDisk final : public Disk {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, Open mode) override {
    EDL_TRY(Descriptor descriptor,
            open_descriptor(path, open_flags(mode), mode == Open::kCreatePrivate ? 0600 : 0666));
    return std::make_unique<PosixFile>(std::move(descriptor), path, mode);
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return os_error(errno, text("rename ", from, " to ", to));
  }

  Result<void> remove(const std::string& path) override {
    if (::remove(path.c_str()) == 0) return {};
    return os_error(errno, text("remove ", path));
  }

  Result<void> make_directory(const std::string& path) override {
    for (std::size_t end = 1; end <= path.size(); ++end) {
      if (end < path.size() && path[end] != '/') continue;
      const std::string part = path.substr(0, end);
      if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
        return os_error(errno, text("make the folder ", part));
      }
    }
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
    return Error{Code::kConflict, text("cannot make the folder ", path, ": a file has this name")};
  }

  Result<void> sync_directory(const std::string& path) override {
    EDL_TRY(const Descriptor descriptor, open_descriptor(path, O_RDONLY | O_DIRECTORY));
    if (::fsync(descriptor.number()) == 0) return {};
    return os_error(errno, text("sync the folder ", path));
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (directory == nullptr) return os_error(errno, text("list ", path));
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  Result<std::unique_ptr<DiskLock>> lock(const std::string& path) override {
    EDL_TRY(Descriptor descriptor, open_descriptor(path, O_RDWR | O_CREAT));
    if (::flock(descriptor.number(), LOCK_EX | LOCK_NB) == 0) {
      return std::make_unique<PosixDiskLock>(std::move(descriptor));
    }
    if (errno != EWOULDBLOCK) return os_error(errno, text("lock ", path));
    return Error{Code::kConflict, text("cannot lock ", path, ": another process holds it")};
  }

  Result<std::uint64_t> free_bytes(const std::string& path) override {
    struct statvfs status {};
    if (::statvfs(path.c_str(), &status) != 0) return os_error(errno, text("look at ", path));
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  }

  Result<bool> is_private(const std::string& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return os_error(errno, text("look at ", path));
    return (status.st_mode & (S_IRGRP | S_IROTH)) == 0;
  }
};

}  // namespace

std::unique_ptr<Disk> posix_disk() { return std::make_unique<PosixDisk>(); }

}  // namespace edl::os
