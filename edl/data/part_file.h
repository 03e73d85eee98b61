// What has come of a file so far, hashed while it comes. It stays on disk when its process ends,
// and the next one goes on behind it.
#pragma once

#include <memory>
#include <string>

#include "edl/base/sha256.h"
#include "edl/os/disk.h"

namespace edl::data {

class PartFile {
 public:
  // Hashes what is there already.
  static Result<std::unique_ptr<PartFile>> open(os::Disk& disk, const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

  Result<void> add(ConstBytes bytes);
  // From its beginning once more.
  Result<void> restart();
  // Synced; answers the sum of it. Nothing comes behind it.
  Result<std::string> finish();

 private:
  PartFile(std::string path, std::unique_ptr<os::File> file)
      : path_(std::move(path)), file_(std::move(file)), hash_(std::make_unique<Sha256>()) {}

  const std::string path_;
  const std::unique_ptr<os::File> file_;
  std::unique_ptr<Sha256> hash_;
  std::uint64_t bytes_ = 0;
};

// The sum of a whole file.
Result<std::string> sha256_of(os::Disk& disk, const std::string& path);

}  // namespace edl::data
