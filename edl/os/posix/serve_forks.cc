#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "edl/base/text.h"
#include "edl/os/posix/child.h"
#include "edl/os/posix/fork_message.h"
#include "edl/os/posix/fork_server.h"
#include "edl/os/posix/packet.h"
#include "edl/os/thread.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

namespace edl::os {
namespace {

struct Forked {
  int pid;
  Descriptor pidfd;
};

bool answer(int socket, const ForkAnswer& message, std::span<const int> descriptors = {}) {
  return send_packet(socket, std::as_bytes(std::span(&message, 1)), descriptors) == 0;
}

std::vector<std::string> words(ConstBytes bytes) {
  std::vector<std::string> out;
  for (const std::string_view word : split(text_of(bytes), '\0')) out.emplace_back(word);
  out.pop_back();  // what follows the last zero
  return out;
}

// In the child: takes over the descriptors of the request, leaves those of the server.
ForkedChild enter_child(Packet packet, int server_socket, std::vector<Forked>& siblings) {
  siblings.clear();
  Descriptor socket = std::move(packet.descriptors[0]);
  if (packet.descriptors.size() > 1) {
    ::dup2(packet.descriptors[1].number(), STDOUT_FILENO);
    ::dup2(packet.descriptors[1].number(), STDERR_FILENO);
  }
  ::close(server_socket);
  return {words(packet.bytes), socket.release()};
}

void report_exits(int socket, std::vector<Forked>& children) {
  std::erase_if(children, [&](const Forked& child) {
    siginfo_t status{};
    const auto pidfd = static_cast<id_t>(child.pidfd.number());
    const auto wait = [&](int how) {
      return ::waitid(static_cast<idtype_t>(P_PIDFD), pidfd, &status, WEXITED | WNOHANG | how);
    };
    if (wait(WNOWAIT) != 0 || status.si_pid == 0) return false;
    const bool by_itself = status.si_code == CLD_EXITED;
    const ForkAnswer exit{ForkEvent::kExited, child.pid, by_itself ? status.si_status : 0,
                          by_itself ? 0 : status.si_status};
    if (!answer(socket, exit)) return false;  // it is left to who adopts it
    wait(0);
    return true;
  });
}

void wait_for_event(int socket, const std::vector<Forked>& children) {
  std::vector<pollfd> waits{{socket, POLLIN, 0}};
  for (const Forked& child : children) waits.push_back({child.pidfd.number(), POLLIN, 0});
  while (::poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::optional<ForkedChild> serve_forks(int socket, const std::function<int()>& fork) {
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  std::vector<Forked> children;
  while (true) {
    wait_for_event(socket, children);
    report_exits(socket, children);
    auto packet = receive_packet(socket, kForkRequestMax);
    if (!packet.ok()) {
      if (packet.error().code == Code::kConflict) continue;  // nothing there: only an exit
      return std::nullopt;
    }
    if (packet->bytes.empty() || packet->descriptors.empty()) return std::nullopt;
    const int threads = thread_count();
    if (threads != 1) {
      answer(socket, {ForkEvent::kRefused, 0, threads, 0});
      continue;
    }
    const pid_t pid = fork ? fork() : ::fork();
    if (pid == 0) return enter_child(std::move(packet).value(), socket, children);
    if (pid < 0) {
      answer(socket, {ForkEvent::kRefused, 0, 0, errno});
      continue;
    }
    Forked child{pid, open_pidfd(pid)};
    if (!child.pidfd.valid()) {  // no descriptor left: a child that nobody could watch
      const int number = errno;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      answer(socket, {ForkEvent::kRefused, 0, 0, number});
      continue;
    }
    const int pidfd = child.pidfd.number();
    children.push_back(std::move(child));
    answer(socket, {ForkEvent::kForked, pid, 0, 0}, std::span(&pidfd, 1));
  }
}

}  // namespace edl::os
