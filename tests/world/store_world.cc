#include "tests/world/store_world.h"

#include <set>

#include "edl/base/text.h"
#include "edl/store/server.h"
#include "tests/world/store_checker.h"
#include "tests/world/store_client.h"

namespace edl::tests {
namespace {

constexpr const char* kToken = "the token of the virtual store";
constexpr Duration kCalmMax = 120s;

store::ClientOptions client_options() {
  return {
      .endpoints = {{.address = {"server", 2379, {}}, .tls = false}}, .token = kToken, .limit = 2s};
}

}  // namespace

// Ends the process when the store cannot start, as a `main` would.
class StoreWorld::Server final : public os::Program {
 public:
  Server(os::System& system, StoreWorld& owner) : owner_(owner) {
    // Little is kept in the write-ahead file, so that moving pages meets faults, too.
    store::StoreOptions options{.address = {"0.0.0.0", 2379, {}},
                                .folder = "/store",
                                .token = kToken,
                                .disk = {.waiting_pages_max = 15, .forget_at_once = 3}};
    auto started = store::StoreServer::start(system, std::move(options));
    if (started.ok()) {
      server_ = std::move(started).value();
      owner_.journal_.server_starts.push_back(owner_.world_.now());
      return;
    }
    owner_.world_.trace().hit("store.server_could_not_start");
    if (started.error().code == Code::kCorrupt) owner_.violate(started.error().message);
    system.finish(1);
  }
  ~Server() override { ++owner_.crashes_; }

 private:
  StoreWorld& owner_;
  std::unique_ptr<store::StoreServer> server_;
};

// Watches everything from the beginning on a machine that does not fail.
class StoreWorld::Auditor final : public os::Program {
 public:
  Auditor(os::System& system, StoreWorld& owner)
      : owner_(owner), store_(system, client_options(), {.silence_max = 6s}) {
    watching_ = store_.watches().watch(
        {.key = std::string(1, '\0'), .range_end = std::string(1, '\0'), .start_revision = 1},
        [this](Result<store::WatchBatch> batch) { on_watch(std::move(batch)); });
  }

 private:
  void on_watch(Result<store::WatchBatch> batch) {
    if (!batch.ok()) return owner_.violate(text("the auditor: ", batch.error().message));
    Journal& journal = owner_.journal_;
    for (store::Event& event : batch->events) {
      journal.history.push_back({std::move(event), owner_.world_.now()});
    }
    journal.history_told = batch->revision;
  }

  StoreWorld& owner_;
  store::EtcdStore store_;
  os::Pending watching_;
};

StoreWorld::StoreWorld(const StoreWorldOptions& options)
    : options_(options), world_({.seed = options.seed, .quiet = true}) {
  add_server();
  add_clients();
}

StoreWorld::~StoreWorld() = default;

void StoreWorld::violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

void StoreWorld::add_server() {
  const int node = world_.add_node("server");
  world_.install("store", [this](os::System& system, const os::Arguments&) {
    return std::make_unique<Server>(system, *this);
  });
  world_.keep_running(node, {"store"}, 200ms);
}

void StoreWorld::add_clients() {
  for (int i = 0; i < options_.clients; ++i) {
    const std::string id = text("client-", i);
    const int node = world_.add_node(id);
    world_.install(id, [this, id](os::System& system, const os::Arguments&) {
      return std::make_unique<StoreClient>(system, world_, journal_,
                                           StoreClientOptions{.id = id,
                                                              .operations = options_.operations,
                                                              .store = client_options(),
                                                              .watch = {.silence_max = 6s}});
    });
    world_.keep_running(node, {id}, 500ms);
  }
  const int node = world_.add_node("auditor");
  world_.install("auditor", [this](os::System& system, const os::Arguments&) {
    return std::make_unique<Auditor>(system, *this);
  });
  world_.keep_running(node, {"auditor"}, 500ms);
}

// Crashes and bad disks for the server, which has the disk; everything for everybody.
void StoreWorld::unleash() {
  using os::Fault;
  if (world_.random().once_in(4)) {  // while the store is made
    world_.cut_power_at_disk_call(0, world_.random().below(60));
    world_.at(world_.now() + 1s, [this] { world_.boot(0); });
  }
  const std::vector<Fault> network{Fault::kPause,    Fault::kPartition, Fault::kOneWayCut,
                                   Fault::kIsolate,  Fault::kSlowLink,  Fault::kLossyLink,
                                   Fault::kClockJump};
  os::unleash(world_, {.length = options_.faults_for,
                       .faults = 6,
                       .at_least = {Fault::kPowerCut, Fault::kPowerCut, Fault::kKill},
                       .never = network,
                       .nodes = {0}});
  os::ChaosPlan others{.length = options_.faults_for,
                       .faults = 4,
                       .at_least = {Fault::kPartition},
                       .never = {Fault::kDiskFull, Fault::kDiskSyncError}};
  for (int node = 0; node <= options_.clients; ++node) others.nodes.push_back(node);
  os::unleash(world_, others);
}

bool StoreWorld::all_done() {
  if (journal_.operations.size() <
      options_.operations * static_cast<std::size_t>(options_.clients)) {
    return false;
  }
  for (const Operation& operation : journal_.operations) {
    if (operation.end == Time{} && operation.start + 5s > world_.now()) return false;
  }
  return true;
}

// Some of the faults may have met a server that was down already.
void StoreWorld::crash_until(std::uint64_t count) {
  for (int tries = 0; crashes_ < count && violation_.empty() && tries < 50; ++tries) {
    const std::uint64_t before = crashes_;
    world_.run_until([this] { return !world_.processes_on(0).empty(); }, 5s);
    world_.cut_power_at_disk_call(0, world_.random().below(12));
    world_.run_until([&] { return crashes_ > before; }, 10s);
    world_.cut_power(0);
    world_.boot(0);
  }
}

void StoreWorld::run() {
  unleash();
  world_.run_for(options_.faults_for);
  crash_until(3);
  const auto done = [this] { return !violation_.empty() || all_done(); };
  if (!world_.run_until(done, kCalmMax)) {
    violate(text("only ", journal_.operations.size(), " operations were tried after ",
                 duration_text(kCalmMax), " without faults"));
  }
  // Leases that nobody renews end, and everybody hears of everything.
  world_.run_for(15s);
  if (violation_.empty()) check_calm();
}

void StoreWorld::check_calm() {
  StoreChecker checker(journal_);
  violate(checker.run());
  for (const auto& [what, count] : checker.hits()) {
    for (std::uint64_t i = 0; i < count; ++i) world_.trace().hit(what);
  }
  if (!violation_.empty()) return;
  std::map<std::string, std::string> values;
  std::set<std::string> members;
  for (const auto& [key, kv] : checker.final_state()) {
    if (key.starts_with("/r/")) values[key] = kv.value;
    if (key.starts_with("/r/") && kv.lease != 0) {
      violate(text("lease ", kv.lease, " of ", key, " never ended"));
    }
    if (key.starts_with("/own/members/")) members.insert(kv.value);
  }
  for (const auto& [client, mirror] : journal_.mirrors) {
    if (mirror != values) violate(text("the picture of ", client, " is not what the store has"));
  }
  if (members.size() != static_cast<std::size_t>(options_.clients)) {
    violate(text("only ", members.size(), " clients are registered"));
  }
}

}  // namespace edl::tests
