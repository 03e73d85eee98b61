// `edl guard`: ends the workers of an agent that is gone. Agents start it, so it is not listed.
#include <charconv>
#include <set>

#include "edl/cli/commands.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"

namespace edl::cli {
namespace {

constexpr Duration kGuardLookEvery = 50ms;
constexpr Duration kGuardKillLimit = 5s;  // for a process that the kernel cannot end
constexpr std::size_t kGuardGroupsMax = 1 << 16;
constexpr std::size_t kGuardLineMax = 64;

struct GuardOptions {
  std::string lock{};
  Duration grace = 30s;
};

// The agent tells process groups, "+123" and "-123", a line each. When its stream ends, those that
// it has not taken back get SIGTERM, and after the grace SIGKILL.
class GuardProgram final : public os::Program {
 public:
  GuardProgram(os::System& system, os::Stream& parent, GuardOptions options)
      : system_(system), parent_(parent), options_(std::move(options)) {
    listen();
    take_lock();
  }

 private:
  void take_lock() {
    if (options_.lock.empty()) return tell_ready();
    auto lock = system_.disk().lock(options_.lock);
    if (!lock.ok()) {
      timer_ = system_.after(kGuardLookEvery, [this] { take_lock(); });
      return;
    }
    lock_ = std::move(lock).value();
    tell_ready();
  }

  void tell_ready() {
    static constexpr std::string_view kReady = "ready\n";
    const ConstBytes piece = bytes_of(kReady);
    parent_.write(std::span(&piece, 1), [](const Result<void>&) {});
  }

  void listen() {
    parent_.read(buffer_, [this](const Result<std::size_t>& got) {
      if (!got.ok() || *got == 0) return begin_end();
      words_ += text_of(ConstBytes(buffer_).first(*got));
      take_lines();
      listen();
    });
  }

  void take_lines() {
    for (std::size_t end = words_.find('\n'); end != std::string::npos; end = words_.find('\n')) {
      take_line(words_.substr(0, end));
      words_.erase(0, end + 1);
    }
    if (words_.size() > kGuardLineMax) words_.clear();
  }

  void take_line(const std::string& line) {
    int group = 0;
    const char* const end = line.data() + line.size();
    if (line.size() < 2 || std::from_chars(line.data() + 1, end, group).ptr != end || group <= 1) {
      return;
    }
    if (line[0] == '-') groups_.erase(group);
    if (line[0] == '+' && groups_.size() < kGuardGroupsMax) groups_.insert(group);
  }

  void begin_end() {
    for (const int group : groups_) (void)os::signal_group(group, os::Signal::kTerminate);
    ended_ = system_.now();
    look();
  }

  // The kernel tells nobody but the parent, which is gone, when a process ends.
  void look() {
    std::erase_if(groups_, [](int group) { return !os::has_group(group); });
    const Duration passed = system_.now() - ended_;
    if (groups_.empty() || passed >= options_.grace + kGuardKillLimit) return system_.finish(0);
    if (passed >= options_.grace) {
      for (const int group : groups_) (void)os::signal_group(group, os::Signal::kKill);
    }
    timer_ = system_.after(kGuardLookEvery, [this] { look(); });
  }

  os::System& system_;
  os::Stream& parent_;
  const GuardOptions options_;
  std::unique_ptr<os::DiskLock> lock_;
  std::set<int> groups_;
  std::string words_;
  Bytes buffer_ = Bytes(4096);
  Time ended_{};
  os::Pending timer_;
};

class Guard final : public Command {
 public:
  Guard(CLI::App& app, Console& console) : console_(console) {
    app.add_option("--lock", options_.lock, "file that one guard at a time holds");
    add_duration(app, "--grace", options_.grace, "between SIGTERM and SIGKILL");
  }

  Result<void> run(Output&) override {
    const auto sink = stderr_log_sink(Level::kWarn);
    const auto system = os::posix_system(
        {.log_sink = sink.get(), .name = "guard", .parent_descriptor = console_.parent_descriptor});
    os::Stream* parent = system->processes().parent();
    if (parent == nullptr) return Error{Code::kInvalid, "edl guard is started by edl run only"};
    const GuardProgram guard(*system, *parent, options_);
    system->run();
    return {};
  }

 private:
  Console& console_;
  GuardOptions options_;
};

}  // namespace

void add_guard(CommandLine& line, Console& console) {
  CLI::App& app =
      line.add<Guard>(line.root(),
                      {"guard", "End the workers of an agent that is gone; started by edl run.",
                       "edl run --mode=stop-resume --workers=2 python3 train.py"},
                      console);
  app.group("");
}

}  // namespace edl::cli
