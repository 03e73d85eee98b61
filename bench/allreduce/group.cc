#include "bench/allreduce/group.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "edl/base/text.h"

namespace edl::bench {
namespace {

constexpr int kAnswerLimitMs = 120'000;
constexpr int kEndLimitMs = 5000;

}  // namespace

Group::Group(const std::vector<Line>& lines) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const Line& line : lines) processes_.push_back(start(line));
}

Group::Process Group::start(const Line& line) {
  int to[2];
  int from[2];
  EDL_CHECK(::pipe2(to, O_CLOEXEC) == 0 && ::pipe2(from, O_CLOEXEC) == 0);
  std::vector<char*> words;
  for (const std::string& word : line) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  EDL_CHECK(failed == 0, text("cannot start ", line[0]));
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  return {pid, to[1], from[0]};
}

// The end of its input ends an engine.
Group::~Group() {
  for (const Process& process : processes_) ::close(process.input);
  for (const Process& process : processes_) {
    ::close(process.output);
    pollfd ended{static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)), POLLIN, 0};
    ::poll(&ended, 1, kEndLimitMs);
    ::close(ended.fd);
    ::kill(process.pid, SIGKILL);
    ::waitpid(process.pid, nullptr, 0);
  }
}

Result<std::string> Group::ask(const std::string& command) {
  const std::string line = command + "\n";
  for (const Process& process : processes_) {
    if (::write(process.input, line.data(), line.size()) < 0) {
      return Error{Code::kUnavailable, text("it has ended before: ", command)};
    }
  }
  std::string answer;
  pollfd waiting{processes_[0].output, POLLIN, 0};
  while (!answer.ends_with('\n')) {
    if (::poll(&waiting, 1, kAnswerLimitMs) <= 0) {
      return Error{Code::kTimeout, text("it did not answer: ", command)};
    }
    char letter = 0;
    if (::read(waiting.fd, &letter, 1) != 1) {
      return Error{Code::kUnavailable, text("it has ended at: ", command)};
    }
    answer += letter;
  }
  answer.pop_back();
  return answer;
}

}  // namespace edl::bench
