#include "bench/pauses/job.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "edl/base/text.h"

namespace edl::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr int kLookMs = 200;

struct Child {
  pid_t pid = -1;
  int output = -1;
};

// In a process group of its own, with its standard output to be read.
Child start(const std::vector<std::string>& line) {
  int pipe[2];
  EDL_CHECK(::pipe2(pipe, O_CLOEXEC) == 0);
  std::vector<char*> words;
  for (const std::string& word : line) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  Child child{.output = pipe[0]};
  const int failed =
      ::posix_spawn(&child.pid, words[0], &actions, &attributes, words.data(), environ);
  EDL_CHECK(failed == 0, text("cannot start ", line[0]));
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  return child;
}

}  // namespace

Job::Job(const JobOptions& options) : options_(options) {
  const Child child = start(
      {options.edl, "run", "--json", "--events=all", "--name=pauses",
       text("--dir=", options.folder), "--workers=1:8", text("--start=", options.workers),
       "--steps=1000000000", "--epochs=1000000000", "--checkpoint-every=off", "builtin:linear",
       text("--ballast=", options.ballast_bytes), text("--work=", options.work)});
  pid_ = child.pid;
  output_ = child.output;
}

Job::~Job() {
  (void)ask({"stop"});
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::close(output_);
}

Result<Json> Job::ask(std::vector<std::string> words) const {
  words.insert(words.begin(), options_.edl);
  words.insert(words.end(), {options_.folder, "--json"});
  const Child child = start(words);
  std::string answer;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(child.output, bytes, sizeof bytes)) > 0;) {
    answer.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(child.output);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  if (status != 0) return Error{Code::kUnavailable, text("edl ", words[1], " failed: ", answer)};
  return parse_json(answer);
}

Result<void> Job::scale(int workers) {
  EDL_TRY(const Json answer, ask({"scale", text("--workers=", workers)}));
  return {};
}

Result<std::string> Job::leader() const {
  EDL_TRY(const Json answer, ask({"leader"}));
  return answer.value("id", std::string());
}

double Job::told_pause_ms(std::uint64_t generation) const {
  const auto found = pauses_.find(generation);
  return found == pauses_.end() ? -1 : found->second;
}

Result<void> Job::wait(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      return Error{Code::kTimeout,
                   text("nothing came of it within a minute; see ", options_.folder, "/log")};
    }
    pollfd waiting{output_, POLLIN, 0};
    if (::poll(&waiting, 1, kLookMs) <= 0) continue;
    char bytes[65536];
    const ssize_t got = ::read(output_, bytes, sizeof bytes);
    if (got <= 0) return Error{Code::kUnavailable, "the job has ended"};
    unread_.append(bytes, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t line = 0; (line = unread_.find('\n', begin)) != std::string::npos;) {
      take(unread_.substr(begin, line - begin));
      begin = line + 1;
    }
    unread_.erase(0, begin);
  }
  return {};
}

void Job::take(const std::string& line) {
  const auto event = parse_json(line);
  if (!event.ok()) return;
  const std::string kind = event->value("event", std::string());
  if (kind == "step") steps_.push_back({(*event)["generation"], (*event)["time"]});
  if (kind == "worker") pids_[(*event)["id"]] = event->value("pid", 0);
  if (kind != "view") return;
  if (event->contains("pause_ms")) {
    pauses_[(*event)["generation"]] = (*event)["pause_ms"];
    return;
  }
  generation_ = (*event)["generation"];
  members_.clear();
  for (const Json& member : (*event)["members"]) members_.push_back(member["id"]);
}

}  // namespace edl::bench
