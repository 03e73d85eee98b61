// A file descriptor with one owner, and errors of the operating system as Error.
#pragma once

#include <string_view>

#include "edl/base/result.h"

namespace edl::os {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  int number() const { return number_; }
  bool valid() const { return number_ >= 0; }
  int release();
  void reset();

 private:
  int number_ = -1;
};

// "cannot WHAT: No such file or directory", with the code that fits `number` (an errno).
Error os_error(int number, std::string_view what);

}  // namespace edl::os
