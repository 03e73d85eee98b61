#include "bench/store/servers.h"

#include <fstream>

#include "edl/base/text.h"

namespace edl::bench {
namespace {

constexpr Duration kReadyLimit = 120s;
constexpr Duration kAskEvery = 2ms;

Result<os::Address> free_address(os::System& system) {
  EDL_TRY(const auto listener, system.network().listen({"127.0.0.1", 0, {}}, [](auto) {}));
  return listener->address();
}

}  // namespace

std::unique_ptr<store::Client> Server::client() const {
  return std::make_unique<store::Client>(
      system_, store::ClientOptions{.endpoints = {plan_.url}, .limit = 60s});
}

Result<void> Server::start() {
  os::Spawn spawn{.argv = plan_.argv,
                  .environment = {},
                  .directory = {},
                  .output_path = plan_.log_path,
                  .dies_with_parent = true};
  EDL_TRY(child_, system_.processes().spawn(spawn, [this](os::Exit) {
    alive_ = false;
    system_.finish(0);
  }));
  alive_ = true;
  bool ready = false;
  bool late = false;
  const auto asked = client();
  ask(*asked, [&] { ready = true; });
  const os::Pending limit = system_.after(kReadyLimit, [&] {
    late = true;
    system_.finish(0);
  });
  while (alive_ && !ready && !late) system_.run();
  asking_.cancel();
  if (ready) return {};
  return Error{Code::kUnavailable, text(plan_.name, late ? " is not ready" : " ended at once",
                                        "; its words are in ", plan_.log_path)};
}

void Server::ask(const store::Client& client, const std::function<void()>& answered) {
  const http::Request request = client.request("/v3/kv/range", R"({"key":"YQ=="})");
  http::Client& http = const_cast<store::Client&>(client).http();
  asking_ = http.send(plan_.url, request, kReadyLimit, [&, answered](auto answer) {
    if (answer.ok() && answer->status == 200) {
      answered();
      return system_.finish(0);
    }
    asking_ = system_.after(kAskEvery, [&, answered] { ask(client, answered); });
  });
}

void Server::kill() {
  if (!child_) return;
  if (alive_) (void)child_->signal(os::Signal::kKill);
  while (alive_) system_.run();
  child_.reset();
}

std::int64_t Server::resident_bytes() const {
  std::ifstream status(text("/proc/", child_->pid(), "/status"));
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

Result<std::unique_ptr<Server>> embedded_server(os::PosixSystem& system, const std::string& name,
                                                const std::string& program,
                                                const std::string& folder) {
  EDL_TRY(const os::Address address, free_address(system));
  return std::make_unique<Server>(
      system, Server::Plan{.name = name,
                           .argv = {program, "store", "serve", text("--listen=", address),
                                    text("--data=", folder)},
                           .log_path = folder + ".log",
                           .url = {.address = address}});
}

Result<std::unique_ptr<Server>> etcd_server(os::PosixSystem& system, const std::string& program,
                                            const std::string& folder) {
  EDL_TRY(const os::Address address, free_address(system));
  EDL_TRY(const os::Address peer_address, free_address(system));
  const std::string client = text("http://", address);
  const std::string peer = text("http://", peer_address);
  return std::make_unique<Server>(
      system,
      Server::Plan{.name = "etcd",
                   .argv = {program, "--name=a", text("--data-dir=", folder),
                            "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
                            "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
                            "--initial-cluster=a=" + peer, "--log-level=error",
                            "--quota-backend-bytes=8000000000"},
                   .log_path = folder + ".log",
                   .url = {.address = address}});
}

}  // namespace edl::bench
