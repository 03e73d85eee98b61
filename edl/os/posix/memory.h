// Shared memory as a sealed memfd.
#pragma once

#include <memory>

#include "edl/os/memory.h"
#include "edl/os/posix/descriptor.h"

namespace edl::os {

class PosixMemory final : public Memory {
 public:
  static Result<std::unique_ptr<PosixMemory>> make(std::size_t bytes);
  // Maps what another process made, for reading; refuses what could still shrink.
  static Result<std::unique_ptr<PosixMemory>> received(Descriptor descriptor);
  // The same, by what `place` says.
  static Result<std::unique_ptr<PosixMemory>> found(const std::string& place);
  ~PosixMemory() override;

  ConstBytes bytes() const override { return mapping_; }
  ByteSpan writable() override { return ours_ ? mapping_ : ByteSpan(); }
  std::string place() const override;
  int descriptor() const { return descriptor_.number(); }

 private:
  PosixMemory(Descriptor descriptor, ByteSpan mapping, bool ours)
      : descriptor_(std::move(descriptor)), mapping_(mapping), ours_(ours) {}

  Descriptor descriptor_;
  ByteSpan mapping_;
  bool ours_;
};

}  // namespace edl::os
