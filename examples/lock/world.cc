#include "examples/lock/world.h"

#include "edl/base/text.h"
#include "examples/lock/client.h"
#include "examples/lock/server.h"

namespace edl::lock {
namespace {

constexpr Duration kLease = 2s;
constexpr Duration kCalmMax = 60s;  // within it every worker must have had the lock once more

wire::Secret secret() { return wire::Secret::make(bytes_of("the secret of the lock")).value(); }

// Ends the process when the server cannot start, as a `main` would.
class ServerProgram final : public os::Program {
 public:
  ServerProgram(os::System& system, ServerOptions options, os::Trace& trace) {
    auto started = LockServer::start(system, std::move(options));
    if (started.ok()) {
      server_ = std::move(started).value();
    } else {
      trace.hit("lock.server_could_not_start");
      system.log().error(started.error().message);
      system.finish(1);
    }
  }

 private:
  std::unique_ptr<LockServer> server_;
};

}  // namespace

// Wants the lock, uses the resource while it holds it, gives it back, rests.
class Worker final : public os::Program {
 public:
  Worker(os::System& system, LockWorld& owner, std::string id, const os::Address& server)
      : system_(system), owner_(owner), id_(std::move(id)), client_(system, options(server)) {
    owner_.alive_[id_] = this;
    client_.want();
  }
  ~Worker() override { owner_.alive_.erase(id_); }

  bool holds() const { return client_.holds(system_.now()); }

 private:
  ClientOptions options(const os::Address& server) {
    ClientOptions options{.server = server, .id = id_, .secret = secret(), .lease = kLease};
    options.on_held = [this] {
      until_ = system_.now() + draw(100ms, 5s);
      work();
    };
    return options;
  }

  Duration draw(Duration low, Duration high) {
    std::uint64_t chance = 0;
    system_.fill_random(std::as_writable_bytes(std::span(&chance, 1)));
    return Random(chance).between(low, high);
  }

  void work() {
    if (!holds()) {
      owner_.world_.trace().hit("lock.lost_by_time");
      return;
    }
    owner_.use_resource(id_, client_.token());
    if (system_.now() < until_) {
      timer_ = system_.after(draw(10ms, 100ms), [this] { work(); });
    } else {
      client_.release();
      timer_ = system_.after(draw(50ms, 1s), [this] { client_.want(); });
    }
  }

  os::System& system_;
  LockWorld& owner_;
  const std::string id_;
  LockClient client_;
  Time until_{};
  os::Pending timer_;
};

LockWorld::LockWorld(const LockWorldOptions& options)
    : options_(options), world_({.seed = options.seed, .quiet = options.quiet}) {
  add_server();
  for (int i = 0; i < options.workers; ++i) add_worker(i);
}

LockWorld::~LockWorld() = default;

void LockWorld::add_server() {
  const int node = world_.add_node("server");
  world_.install("lock-server", [this](os::System& system, const os::Arguments&) {
    ServerOptions options{.address = {"0.0.0.0", 80, {}},
                          .folder = "/lock",
                          .secret = secret(),
                          .lease = kLease,
                          .observe = [this](const Decision& decision) { observe(decision); }};
    return std::make_unique<ServerProgram>(system, std::move(options), world_.trace());
  });
  world_.keep_running(node, {"lock-server"}, 300ms);
}

void LockWorld::add_worker(int number) {
  const std::string id =
      number < 26 ? text("worker-", static_cast<char>('a' + number)) : text("worker-", number);
  const int node = world_.add_node(id);
  world_.install(id, [this, id](os::System& system, const os::Arguments&) {
    return std::make_unique<Worker>(system, *this, id, os::Address{"server", 80, {}});
  });
  world_.keep_running(node, {id}, 500ms);
}

void LockWorld::observe(const Decision& decision) {
  const bool renewal = decision.reason == "renewed";
  const bool refusal = decision.reason.ends_with("is not the holder's");
  const bool quiet = decision.reason.starts_with("leases granted before");
  world_.trace().hit(renewal   ? "lock.renewed"
                     : refusal ? "lock.renewal_refused"
                     : quiet   ? "lock.waits_after_start"
                               : text("lock.", answer_name(decision.answer)));
}

void LockWorld::use_resource(const std::string& worker, const Token& token) {
  ++uses_;
  ++uses_since_calm_[worker];
  if (token < highest_) {
    violate(text(worker, " uses token ", token_text(token), " after ", token_text(highest_)));
  }
  highest_ = std::max(highest_, token);
  const std::string& first = owners_.emplace(token, worker).first->second;
  if (first != worker)
    violate(text("token ", token_text(token), " of ", first, " and of ", worker));
}

void LockWorld::check_one_holder() {
  std::string holder;
  for (const auto& [id, worker] : alive_) {
    if (!worker->holds()) continue;
    if (!holder.empty()) violate(text(holder, " and ", id, " hold the lock at the same time"));
    holder = id;
  }
}

void LockWorld::violate(std::string what) {
  if (violation_.empty()) violation_ = text(what, ", at ", world_.now().time_since_epoch());
}

std::uint64_t LockWorld::crashes() const {
  const auto& hits = const_cast<os::VirtualWorld&>(world_).trace().hits();
  const auto count = [&](const char* name) {
    const auto found = hits.find(name);
    return found == hits.end() ? 0 : found->second;
  };
  return count("fault.kill") + count("fault.power_cut");
}

void LockWorld::run() {
  using os::Fault;
  os::ChaosPlan plan{.length = options_.faults_for,
                     .faults = options_.faults,
                     .at_least = {Fault::kPowerCut, Fault::kPowerCut, Fault::kKill, Fault::kKill,
                                  Fault::kPartition}};
  // As often the server as all workers together: it has the disk.
  for (int node = 0; node <= options_.workers; ++node) {
    plan.nodes.push_back(0);
    plan.nodes.push_back(node);
  }
  os::unleash(world_, plan);
  const auto checked = [this] {
    check_one_holder();
    return !violation_.empty();
  };
  if (world_.run_until(checked, options_.faults_for)) return;
  uses_since_calm_.clear();
  const auto all_had_it = [&] {
    return checked() || uses_since_calm_.size() == static_cast<std::size_t>(options_.workers);
  };
  if (!world_.run_until(all_had_it, kCalmMax)) {
    violate(text("only ", uses_since_calm_.size(), " of ", options_.workers,
                 " workers had the lock within ", kCalmMax, " after the faults"));
  }
}

}  // namespace edl::lock
