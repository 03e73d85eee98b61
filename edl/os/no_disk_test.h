// A disk with nothing on it that takes nothing, for what is to read bytes that it was given.
#pragma once

#include "edl/os/disk.h"

namespace edl::os {

class NoDisk final : public Disk {
 public:
  Result<std::unique_ptr<File>> open(const std::string&, Open) override { return gone(); }
  Result<void> rename(const std::string&, const std::string&) override { return gone(); }
  Result<void> remove(const std::string&) override { return gone(); }
  Result<void> make_directory(const std::string&) override { return gone(); }
  Result<void> sync_directory(const std::string&) override { return gone(); }
  Result<std::vector<std::string>> list(const std::string&) override { return gone(); }
  bool exists(const std::string&) override { return false; }
  Result<std::unique_ptr<DiskLock>> lock(const std::string&) override { return gone(); }
  Result<std::uint64_t> free_bytes(const std::string&) override { return gone(); }
  Result<bool> is_private(const std::string&) override { return gone(); }

 private:
  static Error gone() { return {Code::kNotFound, "no disk"}; }
};

}  // namespace edl::os
