// `edl store serve`: the embedded store.
#include "edl/cli/store_commands.h"
#include "edl/os/posix/system.h"
#include "edl/store/server.h"

namespace edl::cli {
namespace {

constexpr std::size_t kTokenBytesMax = 4096;

// A store that belongs to a job: tells its parent where it listens, and ends when the parent is
// gone and no lease is left. Until then workers that outlive their agent can still say good-bye.
class ParentWatch {
 public:
  ParentWatch(os::System& system, const store::StoreServer& server, std::string said)
      : system_(system), server_(server), said_(std::move(said)) {
    os::Stream* parent = system_.processes().parent();
    if (parent == nullptr) return;
    const ConstBytes piece = bytes_of(said_);
    parent->write(std::span(&piece, 1), [](const Result<void>&) {});
    listen(*parent);
  }

 private:
  void listen(os::Stream& parent) {
    parent.read(buffer_, [this, &parent](const Result<std::size_t>& got) {
      if (got.ok() && *got > 0) return listen(parent);
      linger(0);
    });
  }

  // Twice without a lease: between the end of one and the grant of another there may be a moment.
  void linger(int idle_looks) {
    idle_looks = server_.core().leases().ids().empty() ? idle_looks + 1 : 0;
    if (idle_looks >= kIdleLooks) return system_.finish(0);
    timer_ = system_.after(kLookEvery, [this, idle_looks] { linger(idle_looks); });
  }

  static constexpr int kIdleLooks = 3;
  static constexpr Duration kLookEvery = 250ms;

  os::System& system_;
  const store::StoreServer& server_;
  const std::string said_;
  Bytes buffer_ = Bytes(64);
  os::Pending timer_;
};

class StoreServe final : public Command {
 public:
  StoreServe(CLI::App& app, Console& console) : console_(console) {
    app.add_option("--listen", listen_, "HOST:PORT or unix:PATH; port 0 takes any free one")
        ->required()
        ->type_name("ADDRESS");
    app.add_option("--data", data_, "folder for the data; made when it is absent")
        ->required()
        ->type_name("DIR");
    app.add_option("--token-file", token_file_,
                   "what clients must show; needed unless only this machine can reach the address")
        ->type_name("FILE");
    app.add_option("--tls-cert", tls_.certificate, "certificate with its chain, PEM")
        ->type_name("FILE");
    app.add_option("--tls-key", tls_.key, "its key, PEM")->type_name("FILE");
    add_number(app, "--keep-revisions", keep_revisions_,
               "revisions of history to keep at least, 0 for all; 1000000 when not given");
    app.add_flag("--verbose", verbose_, "tell on standard error what it does");
    app.add_flag("--of-a-job", of_a_job_, "end with the process that started it")->group("");
  }

  Result<void> run(Output& out) override {
    const auto sink = stderr_log_sink(verbose_ ? Level::kInfo : Level::kWarn);
    const auto system =
        os::posix_system({.log_sink = sink.get(),
                          .name = "store",
                          .parent_descriptor = of_a_job_ ? console_.parent_descriptor : -1,
                          .private_files = true});
    EDL_TRY(store::StoreOptions options, read_options(*system));
    std::unique_ptr<http::TlsContext> tls;
    if (!tls_.certificate.empty() || !tls_.key.empty()) {
      EDL_TRY(tls, http::TlsContext::for_server(system->disk(), tls_));
      options.tls = tls.get();
    }
    EDL_TRY(const auto server, store::StoreServer::start(*system, std::move(options)));
    const std::string where = url(server->address(), tls != nullptr);
    out.add(text("listening on ", where, "\n"));
    out.flush();
    std::optional<ParentWatch> parent;
    if (of_a_job_) parent.emplace(*system, *server, where + "\n");
    for (const os::Signal signal : {os::Signal::kTerminate, os::Signal::kInterrupt}) {
      system->on_signal(signal, [&] { system->finish(0); });
    }
    if (system->run() == 0) return server->close();
    return Error{Code::kUnavailable, "the store ended because of its disk; see above."};
  }

 private:
  Result<store::StoreOptions> read_options(os::System& system) const {
    store::StoreOptions options;
    EDL_TRY(options.address, os::parse_address(listen_));
    options.folder = data_;
    options.limits.keep_revisions = static_cast<store::Revision>(keep_revisions_);
    if (token_file_.empty()) return options;
    EDL_TRY(options.token, read_token(system.disk(), token_file_));
    return options;
  }

  static std::string url(const os::Address& address, bool tls) {
    if (address.is_unix()) return text("unix:", address.path);
    return text(tls ? "https://" : "http://", address);
  }

  Console& console_;
  std::string listen_;
  std::string data_;
  std::string token_file_;
  http::TlsFiles tls_;
  std::uint64_t keep_revisions_ = 1'000'000;
  bool verbose_ = false;
  bool of_a_job_ = false;
};

}  // namespace

Result<std::string> read_token(os::Disk& disk, const std::string& path) {
  EDL_TRY(const bool is_private, disk.is_private(path));
  if (!is_private) {
    return Error{Code::kInvalid, text("others may read the token in ", path,
                                      ": take that right away with chmod 600 ", path, ".")};
  }
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kTokenBytesMax));
  std::string token(trim(text_of(bytes)));
  if (token.empty()) {
    return Error{Code::kInvalid, text("the token file ", path, " is empty: put a token into it.")};
  }
  return token;
}

void add_store_serve(CommandLine& line, CLI::App& store, Console& console) {
  line.add<StoreServe>(store,
                       {"serve", "Serve etcd's API from a folder, with nothing to install.",
                        "edl store serve --listen=127.0.0.1:2379 --data=/var/lib/edl"},
                       console);
}

}  // namespace edl::cli
