#include "examples/lock/server.h"

#include <charconv>

#include "examples/lock/messages.h"

namespace edl::lock {
namespace {

constexpr std::size_t kEpochBytesMax = 32;

// Reads the last epoch and stores the next one before anybody can see it.
Result<std::uint64_t> next_epoch(os::Disk& disk, const std::string& folder) {
  const std::string path = folder + "/epoch";
  std::uint64_t last = 0;
  if (disk.exists(path)) {
    EDL_TRY(const Bytes bytes, os::read_file(disk, path, kEpochBytesMax));
    const std::string_view digits = text_of(bytes);
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), last);
    if (failed != std::errc() || end != digits.data() + digits.size()) {
      return Error{Code::kCorrupt, text(path, " does not hold a number")};
    }
  }
  EDL_TRY(os::replace_file(disk, path, bytes_of(std::to_string(last + 1))));
  return last + 1;
}

}  // namespace

Result<std::unique_ptr<LockServer>> LockServer::start(os::System& system, ServerOptions options) {
  os::Disk& disk = system.disk();
  EDL_TRY(disk.make_directory(options.folder));
  EDL_TRY(disk.sync_directory(os::parent_directory(options.folder)));
  EDL_TRY(auto folder_lock, disk.lock(options.folder + "/lock"));
  EDL_TRY(const std::uint64_t epoch, next_epoch(disk, options.folder));
  std::unique_ptr<LockServer> server(
      new LockServer(system, std::move(options), std::move(folder_lock), epoch));
  EDL_TRY(server->address_, server->endpoint_.listen(
                                server->options_.address,
                                [raw = server.get()](std::unique_ptr<wire::Connection> connection) {
                                  raw->on_connection(std::move(connection));
                                }));
  system.log().info("serving", {{"address", server->address_}, {"epoch", epoch}});
  return server;
}

LockServer::LockServer(os::System& system, ServerOptions options,
                       std::unique_ptr<os::DiskLock> folder_lock, std::uint64_t epoch)
    : system_(system),
      options_(std::move(options)),
      folder_lock_(std::move(folder_lock)),
      core_(epoch, options_.lease, system.now()),
      endpoint_(system, endpoint_options("server", options_.secret)) {}

void LockServer::on_connection(std::unique_ptr<wire::Connection> connection) {
  // The same client again replaces its old connection, which it has given up.
  const std::string client = connection->peer_id();
  auto& place = clients_[client];
  place = std::move(connection);
  place->start([this, client](const wire::Frame& frame) { on_frame(client, frame); },
               [this, client](const Error&) { on_gone(client); });
}

void LockServer::on_frame(const std::string& client, const wire::Frame& frame) {
  const auto request = request_from(frame);
  if (request.ok()) return act(core_.on_request(client, *request, system_.now()));
  system_.log().warn("client dropped", {{"client", client}, {"why", request.error().message}});
  on_gone(client);
}

void LockServer::on_gone(const std::string& client) {
  clients_.erase(client);
  act(core_.on_gone(client, system_.now()));
}

void LockServer::act(const std::vector<Decision>& decisions) {
  for (const Decision& decision : decisions) {
    system_.log().info(answer_name(decision.answer), {{"client", decision.client},
                                                      {"token", token_text(decision.token)},
                                                      {"why", decision.reason}});
    options_.observe(decision);
    const auto client = clients_.find(decision.client);
    if (client != clients_.end())
      (void)send_decision(*client->second, decision);  // full: it asks again
  }
  timer_.cancel();
  if (const auto wake = core_.wake_at()) {
    timer_ = system_.after(*wake - system_.now(), [this] { act(core_.on_time(system_.now())); });
  }
}

}  // namespace edl::lock
