// The lock on real machines: `lock serve` and `lock hold`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "edl/base/random.h"
#include "edl/os/posix/system.h"
#include "examples/lock/client.h"
#include "examples/lock/server.h"

namespace edl::lock {
namespace {

// Takes the lock, says so, keeps it for a while, gives it back, and again.
class Taker final : public os::Program {
 public:
  Taker(os::System& system, ClientOptions options, Duration keep)
      : system_(system), keep_(keep), client_(system, with_callback(std::move(options))) {
    client_.want();
  }

 private:
  ClientOptions with_callback(ClientOptions options) {
    options.on_held = [this] {
      until_ = system_.now() + keep_;
      use();
    };
    return options;
  }

  // One line each time that it is sure to hold the lock, with the clock that all processes share.
  void use() {
    const Time now = system_.now();
    if (!client_.holds(now)) return;
    std::printf("%lld %s\n", static_cast<long long>(now.time_since_epoch().count()),
                token_text(client_.token()).c_str());
    std::fflush(stdout);
    if (now < until_) {
      timer_ = system_.after(5ms, [this] { use(); });
    } else {
      client_.release();
      timer_ = system_.after(10ms, [this] { client_.want(); });
    }
  }

  os::System& system_;
  Duration keep_;
  Time until_{};
  LockClient client_;
  os::Pending timer_;
};

struct Options {
  std::string address;
  std::string folder;
  std::string secret_file;
  std::string id;
  int lease_ms = 2000;
  int keep_ms = 100;
};

Result<std::unique_ptr<os::Program>> make(os::System& system, const Options& options, bool serve) {
  EDL_TRY(const os::Address address, os::parse_address(options.address));
  EDL_TRY(const Bytes bytes, os::read_file(system.disk(), options.secret_file, 4096));
  EDL_TRY(wire::Secret secret, wire::Secret::make(bytes));
  const Duration lease = options.lease_ms * 1ms;
  if (!serve) {
    ClientOptions client{.server = address, .id = options.id, .secret = secret, .lease = lease};
    return std::make_unique<Taker>(system, std::move(client), options.keep_ms * 1ms);
  }
  ServerOptions server{
      .address = address, .folder = options.folder, .secret = secret, .lease = lease};
  EDL_TRY(auto started, LockServer::start(system, std::move(server)));
  std::printf("listening on %s\n", os::address_text(started->address()).c_str());
  std::fflush(stdout);
  return std::unique_ptr<os::Program>(std::move(started));
}

}  // namespace
}  // namespace edl::lock

int main(int argc, char** argv) {
  using namespace edl;
  lock::Options options;
  CLI::App app("A leased lock over EDL's wire: the example that its protocols are modelled on.");
  app.require_subcommand(1);
  CLI::App* serve = app.add_subcommand("serve", "keep the lock");
  serve->add_option("--listen", options.address, "HOST:PORT or unix:PATH; port 0: any")->required();
  serve->add_option("--data", options.folder, "folder for the epoch")->required();
  CLI::App* hold = app.add_subcommand("hold", "take the lock again and again; a line for each use");
  hold->add_option("--connect", options.address, "the server's address")->required();
  hold->add_option("--id", options.id, "of this client, unlike all others")->required();
  hold->add_option("--keep-ms", options.keep_ms)->check(CLI::Range(0, 3600'000));
  for (CLI::App* command : {serve, hold}) {
    command->add_option("--secret-file", options.secret_file, "at least 16 bytes")->required();
    command->add_option("--lease-ms", options.lease_ms)->check(CLI::Range(50, 3600'000));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto sink = stderr_log_sink(Level::kWarn);
  const auto system = os::posix_system({.log_sink = sink.get(), .name = "lock"});
  const auto program = lock::make(*system, options, serve->parsed());
  if (!program.ok()) {
    std::fprintf(stderr, "lock: %s\n", program.error().message.c_str());
    return 1;
  }
  for (const os::Signal signal : {os::Signal::kTerminate, os::Signal::kInterrupt}) {
    system->on_signal(signal, [&] { system->finish(0); });
  }
  return system->run();
}
