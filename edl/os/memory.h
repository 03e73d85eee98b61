// Memory that several processes see. One process makes it and may write; those who receive it over
// a Unix socket may only read. It has no name, cannot shrink or grow, and ends with its last user.
#pragma once

#include "edl/base/bytes.h"

namespace edl::os {

class Memory {
 public:
  virtual ~Memory() = default;
  virtual ConstBytes bytes() const = 0;
  // Empty for a process that received this memory.
  virtual ByteSpan writable() = 0;
};

}  // namespace edl::os
