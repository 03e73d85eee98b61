#include "edl/agent/worker_starter.h"

#include "edl/base/text.h"
#include "edl/train/parent_frame.h"

namespace edl::agent {
namespace {

// A loaded process that dies again and again is of no use: the program cannot be forked.
constexpr int kLossesMax = 3;

}  // namespace

WorkerStarter::WorkerStarter(os::System& system, WorkerStarterOptions options)
    : system_(system), options_(std::move(options)) {}

bool WorkerStarter::load() {
  if (std::exchange(lost_, false)) server_.reset();
  if (server_) return true;
  if (losses_ >= kLossesMax) return false;
  os::Spawn spawn;
  spawn.argv = options_.argv;
  spawn.environment = options_.environment;
  spawn.environment.emplace_back(train::kRoleVariable, train::kRoleParent);
  spawn.output_path = options_.parent_log;
  spawn.own_session = true;
  auto server = system_.processes().spawn_fork_server(spawn, [this](os::Exit exit) {
    system_.log().warn("loaded process ended", {{"how", os::exit_text(exit)}});
    ++losses_;
    lost_ = true;
  });
  if (!server.ok()) {
    ++losses_;
    return false;
  }
  server_ = std::move(server).value();
  return true;
}

void WorkerStarter::start(const std::string& id, const std::string& log, Started started,
                          os::ExitDone exited) {
  if (!load()) return execute(log, started, exited);
  server_->fork(
      {train::kRoleWorker, id}, log,
      [this, id, log, started, exited](Result<std::unique_ptr<os::Child>> child) {
        if (child.ok()) return started(std::move(child));
        system_.log().warn("cannot fork", {{"worker", id}, {"why", child.error().message}});
        execute(log, started, exited);
      },
      exited);
}

void WorkerStarter::execute(const std::string& log, const Started& started,
                            const os::ExitDone& exited) {
  os::Spawn spawn;
  spawn.argv = options_.argv;
  spawn.environment = options_.environment;
  spawn.environment.emplace_back(train::kRoleVariable, train::kRoleWorker);
  spawn.output_path = log;
  spawn.own_session = true;
  auto child = std::make_shared<Result<std::unique_ptr<os::Child>>>(
      system_.processes().spawn(spawn, exited));
  system_.post([started, child] { started(std::move(*child)); });
}

}  // namespace edl::agent
