// Memory that several processes see. One process makes it and may write; those who receive it over
// a Unix socket, or find it by its place, may only read. It has no name in any file system, cannot
// shrink or grow, and ends with its last user.
#pragma once

#include <string>

#include "edl/base/bytes.h"

namespace edl::os {

class Memory {
 public:
  virtual ~Memory() = default;
  virtual ConstBytes bytes() const = 0;
  // Empty for a process that received this memory.
  virtual ByteSpan writable() = 0;
  // By which another process of this machine finds it while it is ours; else empty.
  virtual std::string place() const = 0;
};

}  // namespace edl::os
