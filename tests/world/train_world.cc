#include "tests/world/train_world.h"

#include "edl/store/etcd_store.h"
#include "edl/store/server.h"

namespace edl::tests {
namespace {

constexpr const char* kJob = "toy";
constexpr const char* kToken = "the token of the store";
constexpr const char* kDir = "/job";

store::ClientOptions client_options() {
  return {
      .endpoints = {{.address = {"store", 2379, {}}, .tls = false}}, .token = kToken, .limit = 3s};
}

wire::Secret secret() {
  auto made = wire::Secret::make(bytes_of("a secret of sixteen bytes or more"));
  EDL_CHECK(made.ok());
  return std::move(made).value();
}

}  // namespace

class TrainWorld::Store final : public os::Program {
 public:
  Store(os::System& system, TrainWorld& owner) : owner_(owner) {
    auto started = store::StoreServer::start(
        system, {.address = {"0.0.0.0", 2379, {}}, .folder = "/store", .token = kToken});
    if (started.ok()) {
      server_ = std::move(started).value();
      owner.store_ = server_.get();
      return;
    }
    owner.world_.trace().hit("store.could_not_start");
    owner.note("store", started.error().message);
    system.finish(1);
  }

  ~Store() override {
    if (owner_.store_ == server_.get()) owner_.store_ = nullptr;
  }

 private:
  TrainWorld& owner_;
  std::unique_ptr<store::StoreServer> server_;
};

// A worker as its `main` would run it.
class TrainWorld::Member final : public os::Program {
 public:
  Member(os::System& system, TrainWorld& owner, std::string id, std::string host)
      : system_(system),
        owner_(owner),
        id_(std::move(id)),
        host_(std::move(host)),
        random_(owner.world_.random().fork()),
        store_(system, client_options()),
        training_(
            system,
            [this] {
              const Duration cost = random_.between(Duration(500us), Duration(10ms));
              return std::chrono::duration_cast<Duration>(cost * owner_.slowness(host_));
            },
            [this] { return late(); }),
        files_(
            system, [this] { return random_.between(Duration(100us), Duration(5ms)); },
            [this] { return late(); }),
        stream_(
            owner.source_,
            [this] {
              const Duration late = (host_.back() - '0') * 50ms;  // as if of a network's disk
              return owner_.world_.now().time_since_epoch() - late;
            },
            Random(owner.options_.seed * 1000 + static_cast<std::uint64_t>(owner.next_id_))),
        toy_(make_toy()),
        worker_(system, store_, {training_, files_}, *toy_, options(owner, id_, host_),
                {.events =
                     [this](const std::vector<train::Report>& reports) {
                       for (const train::Report& report : reports) tell(report);
                     },
                 .state = [](model::WorkerState, const std::string&) {},
                 .stop_me = [](std::size_t, const model::Fault&) {},
                 .died =
                     [this](model::Step step, std::optional<model::LogicalWorker>,
                            const std::string& message) {
                       owner_.violate(text(id_, " failed in step ", step, ": ", message));
                     },
                 .hangs = [] {},  // which is told as a failure, too
                 .exit =
                     [&system, this](int code, const std::string& reason) {
                       owner_.world_.trace().hit(text("worker.exit_", code));
                       owner_.note(id_, text("exits with ", code, ": ", reason));
                       system.finish(code);
                     }}) {
    system.on_signal(os::Signal::kTerminate, [this] { worker_.leave(model::Cause::kPreempt); });
    owner_.alive_.emplace(id_, this);
    worker_.report_from({}, {});
    worker_.start();
  }
  ~Member() override {
    owner_.alive_.erase(id_);
    owner_.checker_.on_ended(id_);
    const bool leads = worker_.core().leads();
    owner_.count_drills(host_, leads);
    if (worker_.stepper().gone_on() > 0) owner_.world_.trace().hit("train.gone_on");
    if (leads) owner_.world_.trace().hit(text("leader_lost.", worker_.core().change_phase()));
  }

  const train::Worker& worker() const { return worker_; }
  const std::string& host() const { return host_; }
  void kill() { system_.processes().end_self({.signal = 9}); }

 private:
  // How late the loop hears of what another thread has done: as a rule at once.
  Duration late() {
    return random_.once_in(8) ? random_.between(Duration(), Duration(8ms)) : Duration();
  }

  static train::WorkerOptions options(const TrainWorld& owner, const std::string& id,
                                      const std::string& host) {
    const TrainWorldOptions& world = owner.options_;
    train::WorkerOptions options{.membership = {.job = kJob,
                                                .id = id,
                                                .host = host,
                                                .listen = {host, 0, {}},
                                                .secret = secret(),
                                                .rules = owner.rules(),
                                                .lease = 3s}};
    options.dir = kDir;
    options.seed = world.job.seed;
    options.faults = world.drills;
    options.checkpoint = {.kind = checkpoint::IntervalRule::Kind::kSteps, .steps = 40};
    return options;
  }

  std::unique_ptr<Toy> make_toy() {
    const auto seen = [this](model::Step step, const Toy::Sign& sign) {
      owner_.look_at_store();
      owner_.checker_.on_applied(id_, step, sign);
    };
    const ToyJob& job = owner_.options_.job;
    if (owner_.options_.is_stream) return std::make_unique<Toy>(stream_, job.rounds, seen);
    return std::make_unique<Toy>(job.samples, job.rounds, seen);
  }

  void tell(const train::Report& report) {
    owner_.look_at_store();
    if (const auto* step = std::get_if<train::StepReport>(&report)) {
      owner_.checker_.on_told(id_, *step);
    } else if (std::holds_alternative<train::ViewReport>(report)) {
      owner_.world_.trace().hit("train.view_told");
    } else if (const Json& event = std::get<Json>(report); event["event"] == "warning") {
      owner_.violate(text(id_, " warns: ", event["reason"].dump()));
    }
  }

  os::System& system_;
  TrainWorld& owner_;
  const std::string id_;
  const std::string host_;
  Random random_;
  store::EtcdStore store_;
  train::TimedExecutor training_;
  train::TimedExecutor files_;
  ToyStream stream_;
  std::unique_ptr<Toy> toy_;
  train::Worker worker_;
};

// Starts workers on its node, again and again, and says when one has ended.
class TrainWorld::Agent final : public os::Program {
 public:
  Agent(os::System& system, TrainWorld& owner, std::string host)
      : system_(system), owner_(owner), host_(std::move(host)), store_(system, client_options()) {
    start();
  }

 private:
  void start() {
    if (owner_.is_over()) return;
    const std::string id = text("w", owner_.next_id_++);
    child_.reset();
    os::Spawn spawn;
    spawn.argv = {"worker", id, host_};
    spawn.dies_with_parent = true;
    auto child = system_.processes().spawn(spawn, [this, id](os::Exit) {
      const Json gone{{"id", id}, {"state", "exited"}};
      ended_[id] = store::settle(
          store_, {.puts = {{membership::JobKeys(kJob).member(id), json_line(gone), 0}}},
          membership::JobKeys(kJob).member(id), 600s, [](const Result<store::Settled>&) {});
      again_ = system_.after(300ms, [this] { start(); });
    });
    EDL_CHECK(child.ok());
    child_ = std::move(child).value();
  }

  os::System& system_;
  TrainWorld& owner_;
  const std::string host_;
  store::EtcdStore store_;
  std::unique_ptr<os::Child> child_;
  std::map<std::string, os::Pending> ended_;
  os::Pending again_;
};

// Who asked for the job, asks for more or fewer workers, and sees its views and result.
class TrainWorld::Person final : public os::Program {
 public:
  Person(os::System& system, TrainWorld& owner)
      : system_(system), owner_(owner), store_(system, client_options()) {
    want(owner_.options_.wanted);
    following_ = store_.follow(keys_.prefix(), [this](Result<store::Fact> fact) {
      if (!fact.ok() || fact->kind != store::Fact::Kind::kPut) return;
      if (fact->kv.key == keys_.result()) owner_.on_result(fact->kv.value);
    });
    if (owner_.options_.scales) change_mind();
  }

 private:
  void want(std::uint32_t workers) {
    const Json value = membership::Wanted{.workers = workers, .by = "person", .reason = "a test"};
    asking_ = store::settle(store_, {.puts = {{keys_.wanted(), json_line(value), 0}}},
                            keys_.wanted(), 600s, [](const Result<store::Settled>&) {});
  }
  void change_mind() {
    const TrainWorldOptions& options = owner_.options_;
    again_ = system_.after(
        owner_.world_.random().between(Duration(500ms), Duration(4s)), [this, &options] {
          owner_.world_.trace().hit("person.scales");
          want(
              static_cast<std::uint32_t>(owner_.world_.random().between(options.min, options.max)));
          change_mind();
        });
  }

  os::System& system_;
  TrainWorld& owner_;
  membership::JobKeys keys_{kJob};
  store::EtcdStore store_;
  os::Pending following_;
  os::Pending asking_;
  os::Pending again_;
};

TrainWorld::TrainWorld(const TrainWorldOptions& options)
    : options_(options),
      shows_(std::getenv("EDL_SHOW") != nullptr),
      source_(options.job.samples),
      catalog_(source_),
      checker_(toy_job(), rules(), [this](std::string_view what) { world_.trace().hit(what); }),
      world_({.seed = options.seed, .quiet = !shows_}) {
  if (shows_) {
    world_.trace().listen([](Time time, std::string_view who, std::string_view line) {
      std::printf("%10.6f %.*s: %.*s\n", seconds(time.time_since_epoch()),
                  static_cast<int>(who.size()), who.data(), static_cast<int>(line.size()),
                  line.data());
      std::fflush(stdout);
    });
  }
  world_.install("store", [this](os::System& system, const os::Arguments&) {
    return std::make_unique<Store>(system, *this);
  });
  world_.install("person", [this](os::System& system, const os::Arguments&) {
    return std::make_unique<Person>(system, *this);
  });
  world_.install("agent", [this](os::System& system, const os::Arguments& argv) {
    return std::make_unique<Agent>(system, *this, argv[1]);
  });
  world_.install("worker", [this](os::System& system, const os::Arguments& argv) {
    return std::make_unique<Member>(system, *this, argv[1], argv[2]);
  });
  EDL_CHECK(world_.add_node("store") == kStoreNode);
  world_.keep_running(kStoreNode, {"store"}, 200ms);
  EDL_CHECK(world_.add_node("person") == kPersonNode);
  world_.keep_running(kPersonNode, {"person"}, 200ms);
  for (int i = 0; i < options_.nodes; ++i) {
    const std::string name = text("node", i);
    const int node = world_.add_node(name);
    world_.keep_running(node, {"agent", name}, 300ms);
  }
}

TrainWorld::~TrainWorld() = default;

void TrainWorld::note(const std::string& who, const std::string& what) {
  if (shows_) world_.trace().line(world_.now(), who, what);
}

void TrainWorld::violate(const std::string& what) {
  if (violation_.empty()) {
    violation_ = text("at ", seconds(world_.now().time_since_epoch()), " s: ", what);
  }
}

membership::Rules TrainWorld::rules() const {
  membership::Rules rules{.logical_workers = options_.job.logical_workers,
                          .min = options_.min,
                          .max = options_.max,
                          .policy = options_.policy,
                          .batch = options_.job.batch,
                          .lr_rule = options_.lr_rule,
                          .warmup_samples = options_.warmup_samples,
                          .steps = options_.job.steps,
                          .replace_after = options_.replace_after};
  if (options_.is_stream) {
    rules.steps.reset();
    rules.epochs = 1;
  }
  if (options_.policy == model::BatchPolicy::kCapped) rules.batch_max = options_.job.batch * 2;
  if (options_.policy == model::BatchPolicy::kAdaptive) rules.batch_max = options_.job.batch * 4;
  return rules;
}

ToyJob TrainWorld::toy_job() const {
  ToyJob job = options_.job;
  if (options_.is_stream) job.catalog = &catalog_;
  return job;
}

double TrainWorld::slowness(const std::string& host) const {
  const bool is_slow = options_.slow_node >= 0 && host == text("node", options_.slow_node) &&
                       world_.now().time_since_epoch() < options_.slow_until;
  return is_slow ? options_.slowness : 1;
}

// Workers are struck more often than the store; who asked for the job only loses its links.
void TrainWorld::unleash() {
  using os::Fault;
  os::ChaosPlan plan{.length = options_.faulty, .faults = options_.faults};
  plan.at_least = {Fault::kKill};
  plan.never = {Fault::kDiskSyncError};
  for (int node = 0; node < world_.node_count(); ++node) {
    if (node != kPersonNode) plan.nodes.push_back(node);
    if (node >= kFirstNode) plan.nodes.push_back(node);
  }
  os::unleash(world_, plan);
  world_.at(world_.now() + plan.length, [this] {
    progress_by_ = world_.now() + options_.recovery;
    stable_when_calm_ = checker_.stable();
  });
}

std::string TrainWorld::alive_text() const {
  std::string all;
  for (const auto& [id, member] : alive_) {
    const train::Worker* const worker = &member->worker();
    all +=
        text("\n  ", id, ": step ", worker->stepper().here().step,
             worker->core().leads() ? ", leads" : "", ", waits for ", worker->core().waits_for());
    if (shows_) all += text("\n    ", worker->core().state_text());
  }
  return all;
}

void TrainWorld::run() {
  if (options_.faults > 0) unleash();
  hunting_ = !options_.hunt.empty();
  blinding_ = options_.blind > Duration::zero();
  run_for(options_.faulty + options_.calm_max);
  if (!is_over()) {
    violate(text("no result; stable until step ", checker_.stable(), ", view ", checker_.views(),
                 ", alive:", alive_text()));
  }
  if (violation_.empty()) check_ledgers();
}

void TrainWorld::run_for(Duration duration) {
  world_.run_until([this] { return is_over(); }, duration);
}

void TrainWorld::hunt() {
  if (world_.now().time_since_epoch() < options_.hunt_after + hunted_ * 1s) return;
  for (const auto& [id, member] : alive_) {
    const membership::Core& core = member->worker().core();
    if (!core.leads() || core.change_phase() != options_.hunt) continue;
    hunting_ = ++hunted_ < options_.hunts;
    return member->kill();
  }
}

// It has promised what it has, and learns late what became of that.
void TrainWorld::blind_joiner() {
  if (world_.now().time_since_epoch() < options_.blind_after) return;
  const bool is_publishing = std::any_of(alive_.begin(), alive_.end(), [](const auto& one) {
    return one.second->worker().core().change_phase() == "publishing";
  });
  if (!is_publishing) return;
  for (const auto& [id, member] : alive_) {
    const membership::Core& core = member->worker().core();
    if (core.is_member() || !core.has_state()) continue;
    blinding_ = false;
    world_.trace().hit("fault.blind_joiner");
    const int node = node_called(member->host());
    world_.cut_link(kStoreNode, node);
    const Time healed = world_.now() + options_.blind;
    world_.at(healed, [this, node] { world_.heal_link(kStoreNode, node); });
    if (progress_by_) progress_by_ = healed + options_.recovery;
    return;
  }
}

// Asked after every event: nothing that is in the store for a moment is missed.
bool TrainWorld::is_over() {
  if (hunting_) hunt();
  if (blinding_) blind_joiner();
  look_at_store();
  if (progress_by_ && checker_.stable() != stable_when_calm_) progress_by_.reset();
  if (progress_by_ && world_.now() > *progress_by_ && result_.empty()) {
    violate(text("the faults are over, and nothing goes on after step ", checker_.stable(),
                 "; alive:", alive_text()));
  }
  if (!checker_.violation().empty()) violate(checker_.violation());
  return !violation_.empty() || !result_.empty();
}

void TrainWorld::look_at_store() {
  if (store_ == nullptr || store_->has_ended() ||
      store_->core().history().revision() == seen_revision_)
    return;
  seen_revision_ = store_->core().history().revision();
  if (options_.is_stream) look_at_catalog();
  const membership::JobKeys keys(kJob);
  // Answers the value of a key when it is another than the last time.
  const auto news = [this](const std::string& key, store::Revision& seen) -> std::optional<Json> {
    const store::Version* const now = store_->core().history().find(key);
    if (now == nullptr || now->place.revision() == seen) return std::nullopt;
    seen = now->place.revision();
    return *parse_json(now->value);
  };
  if (const auto value = news(keys.view(), view_revision_)) {
    const auto view = model::view_from(*value);
    if (!view.ok()) return violate(view.error().message);
    checker_.on_published(*view);
    const bool is_replaced = view->cause == model::Cause::kStraggler && !view->rank_of(view->who);
    if (is_replaced) world_.trace().hit("view.successor");
  }
  if (const auto value = news(keys.checkpoint(), recorded_revision_)) {
    checker_.on_recorded(model::Step((*value)["step"].get<std::uint64_t>()));
  }
}

// Entries come one after the other and stay as they are.
void TrainWorld::look_at_catalog() {
  const membership::JobKeys keys(kJob);
  while (const store::Version* const now = store_->core().history().find(
             keys.prefix() + train::catalog_name(catalog_.entries()))) {
    const std::string problem = catalog_.add(now->value);
    if (!problem.empty()) return violate(problem);
    world_.trace().hit("stream.entry");
  }
}

void TrainWorld::on_result(const std::string& value) {
  result_ = value;
  const Json json = *parse_json(value);
  if (json["state"] != "finished") return violate(text("the result is ", value));
  if (options_.is_stream) {
    if (const std::string problem = catalog_.problem_at_end(); !problem.empty()) violate(problem);
    if (json["samples"] != source_.records()) violate(text("the result is ", value));
    return;
  }
  if (json["step"] != options_.job.steps) return violate(text("the result is ", value));
}

int TrainWorld::node_called(const std::string& host) const {
  int node = kFirstNode;
  while (world_.node_name(node) != host) ++node;
  return node;
}

// A drill that struck has left its file.
void TrainWorld::count_drills(const std::string& host, bool leads) {
  const auto disk = world_.disk(node_called(host)).face(0, [] { return true; });
  const std::vector<std::string> claims = train::claim_names(options_.drills);
  for (std::size_t i = 0; i < options_.drills.size(); ++i) {
    const bool struck = disk->exists(text(kDir, "/faults/", claims[i]));
    if (!struck || !drilled_.emplace(host, i).second) continue;
    const auto phase = name(options_.drills[i].phase);
    world_.trace().hit(text("drill.", phase));
    if (leads) world_.trace().hit(text("drill.", phase, ".leader"));
    if (progress_by_) progress_by_ = world_.now() + options_.recovery;  // a fault, after all
  }
}

void TrainWorld::check_ledgers() {
  std::vector<std::unique_ptr<os::Disk>> faces;
  std::vector<os::Disk*> disks;
  for (int node = kFirstNode; node < world_.node_count(); ++node) {
    faces.push_back(world_.disk(node).face(0, [] { return true; }));
    disks.push_back(faces.back().get());
  }
  checker_.check_ledgers(disks, kDir);
  if (!checker_.violation().empty()) violate(checker_.violation());
}

}  // namespace edl::tests
