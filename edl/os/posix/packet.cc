#include "edl/os/posix/packet.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace edl::os {
namespace {

union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int) * kPacketDescriptorsMax)];
};

}  // namespace

int send_packet(int socket, ConstBytes bytes, std::span<const int> descriptors) {
  EDL_CHECK(descriptors.size() <= kPacketDescriptorsMax);
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

Result<Packet> receive_packet(int socket, std::size_t bytes_max) {
  Packet packet;
  packet.bytes.resize(bytes_max);
  iovec piece{packet.bytes.data(), packet.bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return os_error(errno, "receive");
  packet.bytes.resize(static_cast<std::size_t>(got));
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      packet.descriptors.emplace_back(number);
    }
  }
  return packet;
}

}  // namespace edl::os
