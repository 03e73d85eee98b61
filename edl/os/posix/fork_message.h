// What passes between a fork server and the process that started it; for this folder only.
//
// A SOCK_SEQPACKET socket, one message a packet.
//   request:  arguments, each closed by a zero byte. Descriptors: the child's socket, then its
//   output
//             file if it has one.
//   answer:   ForkAnswer. With kForked one descriptor: the child's pidfd.
// Answers to requests come in the order of the requests; kExited may come in between.
#pragma once

#include <cstddef>
#include <cstdint>

namespace edl::os {

enum class ForkEvent : std::int32_t { kForked = 1, kRefused = 2, kExited = 3 };

struct ForkAnswer {
  ForkEvent event;
  std::int32_t pid;
  std::int32_t code;  // kRefused: threads that were in the way, or 0 and the errno in `signal`
  std::int32_t signal;
};

inline constexpr std::size_t kForkRequestMax = 64 * 1024;

}  // namespace edl::os
