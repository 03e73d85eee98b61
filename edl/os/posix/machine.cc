#include "edl/os/posix/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

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

struct ProcessStat {
  char state = 'X';
  int parent = 0;
  int group = 0;
};

// All zero when there is no such process. The name before the fields may hold anything, so they are
// read from the last bracket on.
ProcessStat stat_of(const std::string& pid) {
  const Descriptor file(::open(text("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> buffer{};
  const ssize_t got = file.valid() ? ::read(file.number(), buffer.data(), buffer.size() - 1) : 0;
  if (got <= 0) return {};
  const std::string_view line(buffer.data(), static_cast<std::size_t>(got));
  const std::size_t bracket = line.rfind(')');
  ProcessStat stat;
  if (bracket == std::string_view::npos) return {};
  if (std::sscanf(line.data() + bracket + 1, " %c %d %d", &stat.state, &stat.parent, &stat.group) !=
      3) {
    return {};
  }
  return stat;
}

int parent_of(int pid) { return stat_of(text(pid)).parent; }

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

Result<void> signal_group(int group, Signal signal) {
  EDL_CHECK(group > 1);  // 1 is everybody, 0 ourselves
  if (::kill(-group, signal_number(signal)) == 0) return {};
  return os_error(errno, text("send ", signal_name(signal), " to group ", group));
}

// A process that has ended and that nobody reaps is still there by its number, so they are looked
// at one by one.
bool has_group(int group) {
  if (group <= 1 || ::kill(-group, 0) != 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return true;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const ProcessStat stat = stat_of(entry->d_name);
    if (stat.group == group && stat.state != 'Z') return true;
  }
  return false;
}

}  // namespace edl::os
