// Bytes that carry descriptors over a Unix socket; for the files of this folder only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/os/posix/descriptor.h"

namespace edl::os {

inline constexpr std::size_t kPacketDescriptorsMax = 2;

struct Packet {
  Bytes bytes;
  std::vector<Descriptor> descriptors;
};

// 0, or an errno.
int send_packet(int socket, ConstBytes bytes, std::span<const int> descriptors);
// At most `bytes_max`; none when the other end has closed. kConflict when nothing is there and the
// socket does not block.
Result<Packet> receive_packet(int socket, std::size_t bytes_max);

}  // namespace edl::os
