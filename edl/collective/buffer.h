// Memory on a device that others own, like a span: where it is and how long. Only Adders and Links
// of the device may look into it; everybody else passes it on.
#pragma once

#include <cstdint>

#include "edl/base/bytes.h"

namespace edl::collective {

// As DLPack names devices; its type 1 is the CPU.
struct Device {
  std::int32_t type = 1;
  std::int32_t id = 0;
  bool operator==(const Device&) const = default;
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(void* address, std::uint64_t bytes, Device device = {})
      : address_(static_cast<std::byte*>(address)), bytes_(bytes), device_(device) {}
  explicit Buffer(ByteSpan memory) : Buffer(memory.data(), memory.size()) {}

  std::byte* address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  Buffer part(std::uint64_t offset, std::uint64_t length) const {
    EDL_CHECK(offset <= bytes_ && length <= bytes_ - offset);
    return {address_ + offset, length, device_};
  }
  bool operator==(const Buffer&) const = default;

 private:
  std::byte* address_ = nullptr;
  std::uint64_t bytes_ = 0;
  Device device_;
};

}  // namespace edl::collective
