// What passes between a fork server and the process that started it; for this folder only.
//
// A SOCK_SEQPACKET socket, one message a packet.
//   request:  arguments, each closed by a zero byte. Descriptors: the child's socket, then its
//   output
//             file if it has one.
//   answer:   ForkAnswer. With kForked one descriptor: the child's pidfd.
// Answers to requests come in the order of the requests; kExited may come in between.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/os/posix/descriptor.h"

namespace edl::os {

enum class ForkEvent : std::int32_t { kForked = 1, kRefused = 2, kExited = 3 };

struct ForkAnswer {
  ForkEvent event;
  std::int32_t pid;
  std::int32_t code;  // kRefused: threads that were in the way, or 0 and the errno in `signal`
  std::int32_t signal;
};

inline constexpr std::size_t kForkRequestMax = 64 * 1024;
inline constexpr std::size_t kPacketDescriptorsMax = 2;

struct Packet {
  Bytes bytes;
  std::vector<Descriptor> descriptors;
};

// 0, or an errno.
int send_packet(int socket, ConstBytes bytes, std::span<const int> descriptors);
// An empty packet when the other end has closed; kConflict when nothing is there and the socket
// does not block.
Result<Packet> receive_packet(int socket);

}  // namespace edl::os
