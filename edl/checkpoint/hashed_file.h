// A file that is hashed while it is written, and files that are read piece by piece.
#pragma once

#include <functional>
#include <string>

#include "edl/base/sha256.h"
#include "edl/os/disk.h"

namespace edl::checkpoint {

// Writes a file from its beginning. Bytes are hashed in pieces, just before they are written.
class HashedWriter {
 public:
  explicit HashedWriter(os::File& file) : file_(file) {}

  Result<void> add(ConstBytes bytes);
  // Cuts off what the file held behind what was written now.
  Result<void> finish();

  std::uint64_t bytes() const { return bytes_; }
  // After `finish`.
  const std::string& sha256() const { return sha256_; }

 private:
  os::File& file_;
  Sha256 hash_;
  std::uint64_t bytes_ = 0;
  std::string sha256_;
};

// Calls `take` with the bytes [begin, end) of a file, piece by piece; kCorrupt when it is shorter.
struct FileRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
Result<void> read_range(os::File& file, FileRange range,
                        const std::function<void(ConstBytes)>& take);

}  // namespace edl::checkpoint
