// A file as memory that is only read. Pages come from the disk when they are first touched, and
// processes that map the same file share them; a fork keeps the mapping.
#pragma once

#include <memory>
#include <string>

#include "edl/base/bytes.h"

namespace edl::os {

// Whoever shortens the file while it is mapped ends the processes that read behind its new end.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  ConstBytes bytes() const { return bytes_; }

 private:
  explicit MappedFile(ConstBytes bytes) : bytes_(bytes) {}

  const ConstBytes bytes_;
};

}  // namespace edl::os
