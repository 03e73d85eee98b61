#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "edl/base/text.h"
#include "edl/os/posix/child.h"
#include "edl/os/posix/system.h"

namespace edl::os {
namespace {

// Everything the child needs, laid out before the fork: after it only system calls are allowed.
struct Image {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::vector<std::string> owned;
  const char* directory = nullptr;
  int output = -1;
  int socket = -1;
  int failure = -1;
  bool dies_with_parent = false;
  bool own_session = false;
  pid_t parent = 0;
};

bool overridden(std::string_view entry, const Spawn& spawn) {
  const std::string_view name = entry.substr(0, entry.find('='));
  if (name == kParentVariable) return true;
  for (const auto& [key, value] : spawn.environment) {
    if (key == name) return true;
  }
  return false;
}

Image image_of(const Spawn& spawn) {
  Image image;
  image.owned.push_back(text(kParentVariable, "=", kParentDescriptor));
  for (const auto& [key, value] : spawn.environment) image.owned.push_back(text(key, "=", value));
  for (std::string& entry : image.owned) image.environment.push_back(entry.data());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!overridden(*entry, spawn)) image.environment.push_back(*entry);
  }
  image.environment.push_back(nullptr);
  for (const std::string& word : spawn.argv) image.argv.push_back(const_cast<char*>(word.c_str()));
  image.argv.push_back(nullptr);
  if (!spawn.directory.empty()) image.directory = spawn.directory.c_str();
  image.dies_with_parent = spawn.dies_with_parent;
  image.own_session = spawn.own_session;
  image.parent = ::getpid();
  return image;
}

void move_descriptor(int from, int to) {
  if (from == to) {
    ::fcntl(to, F_SETFD, 0);
  } else {
    ::dup2(from, to);
  }
}

[[noreturn]] void become(const Image& image) {
  if (image.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != image.parent) ::_exit(127);  // it died before we asked
  }
  if (image.own_session) ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int null = ::open("/dev/null", O_RDONLY);
  move_descriptor(null, STDIN_FILENO);
  if (image.output >= 0) {
    ::dup2(image.output, STDOUT_FILENO);
    ::dup2(image.output, STDERR_FILENO);
  }
  move_descriptor(image.socket, kParentDescriptor);
  if (image.directory == nullptr || ::chdir(image.directory) == 0) {
    ::execvpe(image.argv[0], image.argv.data(), image.environment.data());
  }
  const int failed = errno;
  [[maybe_unused]] const ssize_t told = ::write(image.failure, &failed, sizeof failed);
  ::_exit(127);
}

// A descriptor above those that `become` moves others to.
Descriptor out_of_the_way(Descriptor descriptor) {
  return Descriptor(::fcntl(descriptor.number(), F_DUPFD_CLOEXEC, kParentDescriptor + 1));
}

}  // namespace

Descriptor open_pidfd(int pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Result<Descriptor> open_output(const std::string& path) {
  if (path.empty()) return Descriptor();
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.valid()) return os_error(errno, text("open ", path));
  return file;
}

Result<Started> start_process(const Spawn& spawn, int socket_type) {
  EDL_CHECK(!spawn.argv.empty());
  EDL_TRY(const Descriptor output, open_output(spawn.output_path));
  int ends[2];
  if (::socketpair(AF_UNIX, socket_type | SOCK_CLOEXEC, 0, ends) != 0) {
    return os_error(errno, "make a socket pair");
  }
  Descriptor ours(ends[0]);
  const Descriptor theirs = out_of_the_way(Descriptor(ends[1]));
  if (::pipe2(ends, O_CLOEXEC) != 0) return os_error(errno, "make a pipe");
  const Descriptor answer(ends[0]);
  Descriptor failure = out_of_the_way(Descriptor(ends[1]));

  Image image = image_of(spawn);
  image.output = output.number();
  image.socket = theirs.number();
  image.failure = failure.number();
  const pid_t pid = ::fork();
  if (pid < 0) return os_error(errno, text("start ", spawn.argv[0]));
  if (pid == 0) become(image);

  failure.reset();
  int failed = 0;
  ssize_t got = 0;
  do {
    got = ::read(answer.number(), &failed, sizeof failed);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    ::waitpid(pid, nullptr, 0);
    return os_error(failed, text("run ", spawn.argv[0]));
  }
  Descriptor pidfd = open_pidfd(pid);
  if (!pidfd.valid()) {  // no descriptor left: a child that nobody could watch
    const int number = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return os_error(number, text("watch ", spawn.argv[0]));
  }
  return Started{pid, std::move(pidfd), std::move(ours)};
}

}  // namespace edl::os
