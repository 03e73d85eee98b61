#include "edl/os/posix/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "edl/base/text.h"
#include "edl/os/posix/child.h"

namespace edl::os {
namespace {

constexpr int kGenerationsMax = 64;
constexpr int kColumnsDefault = 80;

std::uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

// Who started the process; 0 when there is none such. The name before the number may hold anything,
// so it is read from the last bracket on.
int parent_of(int pid) {
  const Descriptor file(::open(text("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> buffer{};
  const ssize_t got = file.valid() ? ::read(file.number(), buffer.data(), buffer.size()) : 0;
  if (got <= 0) return 0;
  const std::string_view line(buffer.data(), static_cast<std::size_t>(got));
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string_view::npos || bracket + 4 >= line.size()) return 0;
  return std::atoi(std::string(line.substr(bracket + 4)).c_str());
}

bool is_descendant(int pid, int ancestor) {
  for (int i = 0; i < kGenerationsMax && pid > 1; ++i) {
    pid = parent_of(pid);
    if (pid == ancestor) return true;
  }
  return false;
}

}  // namespace

Machine this_machine() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'l', 'o', 'c', 'a', 'l'};
  std::array<char, PATH_MAX> path{};
  const ssize_t got = ::readlink("/proc/self/exe", path.data(), path.size());
  std::array<char, PATH_MAX> directory{};
  const char* here = ::getcwd(directory.data(), directory.size());
  return {.host = host.data(),
          .cores = usable_cores(),
          .program = std::string(path.data(), got > 0 ? static_cast<std::size_t>(got) : 0),
          .directory = here == nullptr ? "." : here,
          .pid = ::getpid()};
}

std::optional<int> terminal_columns() {
  if (::isatty(STDERR_FILENO) == 0) return std::nullopt;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kColumnsDefault;
}

int process_id() { return ::getpid(); }

Result<void> signal_descendant(int pid, int ancestor, Signal signal) {
  // The descriptor holds on to the process that we look at: the number may be given away meanwhile.
  const Descriptor process = open_pidfd(pid);
  if (!process.valid() || !is_descendant(pid, ancestor)) {
    return Error{Code::kNotFound,
                 text("process ", pid, " is not one that process ", ancestor, " started")};
  }
  const int number = signal_number(signal);
  if (::syscall(SYS_pidfd_send_signal, process.number(), number, nullptr, 0) == 0) return {};
  return os_error(errno, text("send ", signal_name(signal), " to process ", pid));
}

}  // namespace edl::os
