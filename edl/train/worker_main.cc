#include "edl/train/worker_main.h"

#include <chrono>

#include "edl/model/fingerprint.h"
#include "edl/model/job.h"
#include "edl/os/borrowed_stream.h"
#include "edl/os/posix/fork_server.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"
#include "edl/store/etcd_store.h"
#include "edl/train/job_rules.h"
#include "edl/train/memory_bill.h"
#include "edl/train/parent_frame.h"
#include "edl/train/replay_process.h"
#include "edl/train/worker.h"

namespace edl::train {
namespace {

constexpr Duration kSayGoodbye = 100ms;  // for what is on its way to the agent
constexpr Duration kLastPart = 1s;       // which is being computed when a worker ends
constexpr int kAbort = 6;                // the signal

struct Setup {
  WorkerOptions options;
  store::ClientOptions store{};
  model::Fingerprint fingerprint{};  // of the job
};

Result<std::vector<http::Url>> endpoints_of(const std::vector<std::string>& urls) {
  std::vector<http::Url> endpoints;
  for (const std::string& url : urls) {
    EDL_TRY(http::Url parsed, http::parse_url(url));
    endpoints.push_back(std::move(parsed));
  }
  return endpoints;
}

Result<std::vector<model::Fault>> faults_of(const Json& options) {
  std::vector<model::Fault> faults;
  if (!options.contains("faults")) return faults;
  for (const Json& fault : options["faults"]) {
    EDL_TRY(model::Fault parsed, model::fault_from(fault));
    faults.push_back(std::move(parsed));
  }
  return faults;
}

// What an agent says first, as it was written.
struct SetupText {
  std::string job{};
  std::string id{};
  std::string host{};
  std::string address{};
  std::vector<std::string> urls{};
  std::string token{};
  std::string secret{};  // in hexadecimal
  std::string dir{};
  Json spec{};
  Json options{};
};

Result<SetupText> setup_text_from(const Json& json) {
  JsonReader in(json, "setup");
  SetupText setup;
  in.read("job", setup.job);
  in.read("id", setup.id);
  in.read("host", setup.host);
  in.read("address", setup.address);
  in.read("store", setup.urls);
  in.read_optional("token", setup.token);
  in.read("secret", setup.secret);
  in.read("dir", setup.dir);
  in.read("spec", setup.spec);
  in.read_optional("options", setup.options);
  EDL_TRY(in.finish());
  return setup;
}

Result<Setup> setup_from(const Json& json) {
  EDL_TRY(const SetupText words, setup_text_from(json));
  EDL_TRY(model::JobSpec spec, model::job_from(words.spec));
  JsonReader more(words.spec, "spec");
  double started = 0;
  std::uint32_t logical_workers = 0;
  more.read("logical_workers", logical_workers);
  more.read_optional("started", started);
  model::Fingerprint fingerprint;
  if (more.has("fingerprint")) {
    more.read_with("fingerprint", fingerprint, model::fingerprint_from);
  }
  EDL_TRY(more.finish());
  spec.logical_workers = logical_workers;
  EDL_TRY(const model::FittedWorkers fitted, model::worker_range(spec));
  EDL_TRY(const Bytes secret_bytes, parse_hex(words.secret));
  EDL_TRY(wire::Secret secret, wire::Secret::make(secret_bytes));
  EDL_TRY(const os::Address listen, os::parse_address(words.address));
  Setup setup{.options = {.membership = {.job = words.job,
                                         .id = words.id,
                                         .host = words.host,
                                         .listen = listen,
                                         .secret = std::move(secret),
                                         .rules = rules_of(spec, logical_workers, fitted.range)}}};
  setup.fingerprint = std::move(fingerprint);
  setup.options.membership.silent_steps_max = spec.silent_steps;
  setup.options.dir = words.dir;
  setup.options.seed = spec.seed;
  setup.options.init = spec.init;
  setup.options.job_started = started;
  EDL_TRY(setup.options.checkpoint, checkpoint::parse_interval_rule(spec.checkpoint));
  EDL_TRY(setup.options.patience, Patience::make(spec.part_limit));
  EDL_TRY(setup.options.faults, faults_of(words.options));
  setup.options.trace_path = words.options.value("trace_samples", std::string());
  setup.options.grace =
      std::chrono::milliseconds(words.options.value("grace_ms", std::int64_t{30000}));
  setup.options.joins = words.options.value("joins", false);
  EDL_TRY(setup.store.endpoints, endpoints_of(words.urls));
  setup.store.token = words.token;
  return setup;
}

// Talks with the agent, and runs the worker between `setup` and the end.
class Process final : public wire::FrameReceiver {
 public:
  Process(os::PosixSystem& system, Trainee& trainee, model::Fingerprint fingerprint)
      : system_(system),
        trainee_(trainee),
        fingerprint_(std::move(fingerprint)),
        training_(system, "edl-train"),
        files_(system, "edl-files") {
    frames_ = std::make_unique<wire::FrameStream>(
        std::make_unique<os::BorrowedStream>(*system.processes().parent()), wire::Limits());
    frames_->set_receiver(this);
    system.on_signal(os::Signal::kTerminate, [this] { leave(model::Cause::kPreempt); });
    system.on_signal(os::Signal::kInterrupt, [] {});  // the agent decides what that means
  }

  // When the loop has ended. A part that nobody wants any more may take long, or for ever.
  bool rests() { return training_.end_within(kLastPart); }
  // A program that hangs is aborted: what looks at that signal says where all threads stand.
  os::Exit end_of(int code) const { return {.code = code, .signal = hangs_ ? kAbort : 0}; }

 private:
  void on_frame(wire::Frame frame) override {
    const Json& body = frame.body;
    switch (static_cast<ParentFrame>(frame.header.type)) {
      case ParentFrame::kSetup:
        return start(body);
      case ParentFrame::kReport:
        if (worker_) {
          worker_->report_from(model::Step(body.value("from_step", std::uint64_t{0})),
                               model::Generation(body.value("from_generation", std::uint64_t{0})));
        }
        return;
      case ParentFrame::kLeave:
        return leave(body.value("cause", std::string()) == "scale" ? model::Cause::kScale
                                                                   : model::Cause::kPreempt);
      case ParentFrame::kGone:
        if (worker_) worker_->on_gone(body.value("id", std::string()));
        return;
      default:
        return;
    }
  }
  void on_piece(const wire::Piece&) override {}
  // The agent is gone: nobody would replace or stop us.
  void on_broken(const Error&) override { leave(model::Cause::kLeave); }

  void start(const Json& body) {
    if (worker_) return;
    auto setup = setup_from(body);
    if (!setup.ok()) return fail(setup.error().message);
    const auto difference = model::fingerprint_difference(fingerprint_, setup->fingerprint);
    if (!difference.empty()) return refuse(difference);
    setup->options.fingerprint = fingerprint_;
    if (!trainee_.takes_one_sample() && trainee_.samples().is_known()) {
      setup->options.membership.rules.samples_never_alone = trainee_.samples().known();
    }
    setup->options.membership.pid = os::process_id();
    store_ = std::make_unique<store::EtcdStore>(system_, std::move(setup->store));
    worker_ = std::make_unique<Worker>(
        system_, *store_, Worker::Places{training_, files_}, trainee_, std::move(setup->options),
        WorkerEvents{
            .events =
                [this](const std::vector<Report>& told) {
                  Json events = Json::array();
                  for (const Report& report : told) events.push_back(json_of(report));
                  send(ParentFrame::kEvents, {{"events", std::move(events)}});
                },
            .state =
                [this](model::WorkerState state, const std::string& reason) {
                  Json told{{"state", name(state)}, {"reason", reason}};
                  if (preempted_) told["cause"] = name(model::Cause::kPreempt);
                  send(ParentFrame::kState, told);
                },
            .stop_me =
                [this](std::size_t number, const model::Fault& fault) {
                  send(ParentFrame::kFiring,
                       {{"fault", number},
                        {"action", name(fault.action)},
                        {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(fault.pause)
                                   .count()}});
                },
            .died =
                [this](model::Step step, std::optional<model::LogicalWorker> v,
                       const std::string& message) {
                  Json died{{"step", step}, {"message", message}};
                  if (v) died["v"] = *v;
                  send(ParentFrame::kDied, died);
                },
            .hangs = [this] { hangs_ = true; },
            .exit = [this](int code, const std::string&) { finish(code); }});
    worker_->start();
  }

  void leave(model::Cause cause) {
    if (cause == model::Cause::kPreempt) preempted_ = true;
    if (worker_) return worker_->leave(cause);
    finish(0);
  }

  // Before it registers anywhere: the job does not notice. What it means is the agent's to say.
  void refuse(const std::string& reason) {
    system_.log().error("cannot work", {{"why", reason}});
    send(ParentFrame::kRefused, {{"reason", reason}});
    finish(0);
  }

  void fail(const std::string& reason) {
    system_.log().error("cannot work", {{"why", reason}});
    finish(1);
  }

  void finish(int code) {
    ending_ = system_.after(kSayGoodbye, [this, code] { system_.finish(code); });
  }

  void send(ParentFrame type, const Json& body) {
    wire::Header header;
    header.type = static_cast<std::uint32_t>(type);
    (void)frames_->send(header, body, {}, std::uint64_t{64} << 20);
  }

  os::PosixSystem& system_;
  Trainee& trainee_;
  const model::Fingerprint fingerprint_;  // of this process
  std::unique_ptr<wire::FrameStream> frames_;
  std::unique_ptr<store::EtcdStore> store_;
  std::unique_ptr<Worker> worker_;
  bool preempted_ = false;
  bool hangs_ = false;
  os::Pending ending_;
  ThreadExecutor training_;  // last: they end before what they use
  ThreadExecutor files_;
};

int describe(const Json& facts, int parent_descriptor) {
  const auto sink = stderr_log_sink(Level::kWarn);
  const auto system =
      os::posix_system({.log_sink = sink.get(), .parent_descriptor = parent_descriptor});
  wire::Header header;
  header.type = static_cast<std::uint32_t>(ParentFrame::kProgram);
  const std::string body = wire::seal(header, facts, 0);
  const wire::HeaderBytes head = wire::encode(header);
  const std::array<ConstBytes, 2> pieces{ConstBytes(head), bytes_of(body)};
  system->processes().parent()->write(
      pieces, [&](const Result<void>& done) { system->finish(done.ok() ? 0 : 1); });
  return system->run();
}

}  // namespace

std::variant<BegunWorker, int> begin_worker(const WorkerProgram& program, const std::string& role,
                                            int parent_descriptor) {
  if (role == kRoleDescribe && program.facts.contains("memory")) {
    return describe(program.facts, parent_descriptor);
  }
  auto trainee = program.make();
  if (role == kRoleDescribe && trainee.ok()) {
    Json facts = program.facts;
    facts["memory"] = memory_facts(**trainee);
    facts["takes_one_sample"] = (*trainee)->takes_one_sample();
    return describe(facts, parent_descriptor);
  }
  if (role == kRoleParent) {
    const auto child = os::serve_forks(parent_descriptor, program.fork);
    if (!child) return 0;
    parent_descriptor = child->parent_descriptor;
  }
  if (!trainee.ok()) {
    const auto sink = stderr_log_sink(Level::kInfo);
    os::posix_system({.log_sink = sink.get()})
        ->log()
        .error("the program cannot begin", {{"why", trainee.error().message}});
    return 1;
  }
  return BegunWorker{.trainee = std::move(trainee).value(),
                     .fingerprint = program.facts.value("fingerprint", Json("")),
                     .replays = role == kRoleReplay,
                     .parent_descriptor = parent_descriptor};
}

int run_worker(BegunWorker& worker) {
  const auto sink = stderr_log_sink(Level::kInfo);
  const auto system =
      os::posix_system({.log_sink = sink.get(), .parent_descriptor = worker.parent_descriptor});
  if (worker.replays) {
    ReplayProcess process(*system, *worker.trainee);
    return system->run();
  }
  auto fingerprint = model::fingerprint_from(worker.fingerprint);
  if (!fingerprint.ok()) {
    system->log().error("the program cannot begin", {{"why", fingerprint.error().message}});
    return 1;
  }
  Process process(*system, *worker.trainee, std::move(fingerprint).value());
  const int code = system->run();
  if (!process.rests()) system->processes().end_self(process.end_of(code));
  return code;
}

int worker_main(const WorkerProgram& program, const std::string& role, int parent_descriptor) {
  auto begun = begin_worker(program, role, parent_descriptor);
  if (const int* const code = std::get_if<int>(&begun)) return *code;
  return run_worker(std::get<BegunWorker>(begun));
}

}  // namespace edl::train
