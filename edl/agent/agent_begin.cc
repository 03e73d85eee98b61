// How an agent comes to its job: a new one, one that goes on, or one that runs elsewhere.
#include <array>

#include "edl/agent/agent.h"

namespace edl::agent {
namespace {

constexpr std::size_t kDeletesMax = 100;  // in one transaction

std::string new_claim(os::System& system) {
  std::array<std::byte, 8> chance{};
  system.fill_random(chance);
  return hex(chance);
}

}  // namespace

Agent::Agent(os::System& system, AgentOptions options, AgentFace& face)
    : system_(system),
      options_(std::move(options)),
      face_(face),
      began_(system.now()),
      claim_(new_claim(system)),
      log_({.all_steps = options_.all_events,
            .samples = options_.launch.samples,
            .steps = options_.launch.steps.value_or(0)}),
      oom_(system.disk()) {
  picture_.prefix = job_prefix(options_.launch.spec.name);
  starter_ = std::make_unique<WorkerStarter>(
      system_, WorkerStarterOptions{options_.argv, options_.paths.log("parent")});
  for (const os::Signal signal : {os::Signal::kInterrupt, os::Signal::kTerminate}) {
    system_.on_signal(signal, [this] { ask_to_stop(); });
  }
  begin();
}

void Agent::begin() {
  if (options_.mode != AgentMode::kJoin) {
    (void)read_events(system_.disk(), options_.paths.events(),
                      [this](const Json& event) { log_.remember(event); });
    auto events = EventFile::open(system_.disk(), options_.paths.events());
    if (!events.ok()) return fail(events.error());
    events_ = std::move(events).value();
  }
  if (!options_.store.empty()) return open_store(options_.store);
  store_process_ = std::make_unique<StoreProcess>(
      system_, StoreProcessOptions{options_.edl, options_.paths},
      StoreProcess::Callbacks{[this](const std::string& url) { open_store({url}); },
                              [this](const Error& error) { fail(error); },
                              [this](const std::string& sentence) { face_.say(sentence); }});
}

void Agent::open_store(const std::vector<std::string>& urls) {
  urls_ = urls;
  store::ClientOptions client;
  client.token = store_process_ ? store_process_->token() : options_.token;
  for (const std::string& url : urls) {
    auto parsed = http::parse_url(url);
    if (!parsed.ok()) return fail(parsed.error());
    client.endpoints.push_back(std::move(parsed).value());
  }
  if (options_.mode != AgentMode::kJoin) {
    const RunFile run{
        .store = urls,
        .pid = options_.pid,
        .host = options_.host,
        .embedded = store_process_ != nullptr,
        .token_file = store_process_ ? store_process_->token_file() : options_.token_file};
    const auto written = write_run(system_.disk(), options_.paths, run);
    if (!written.ok()) return fail(written.error());
  }
  store_ = std::make_unique<store::EtcdStore>(system_, std::move(client));
  job_store_ = std::make_unique<JobStore>(*store_, options_.launch.spec.name,
                                          [this](const Error& error) { fail(error); });
  job_store_->look([this](const JobPicture& picture) { enter(picture); });
}

void Agent::enter(const JobPicture& picture) {
  switch (options_.mode) {
    case AgentMode::kRun:
      return enter_new(picture);
    case AgentMode::kResume:
      return enter_again(picture);
    case AgentMode::kJoin:
      return enter_as_guest(picture);
  }
}

Json Agent::spec_json() const {
  const Launch& launch = options_.launch;
  Json json = launch.spec;
  json["dir"] = options_.paths.dir;
  json["host"] = options_.host;
  json["started"] = wall_seconds(system_.wall_time());
  json["logical_workers"] = launch.logical_workers;
  json["samples"] = launch.samples;
  json["min"] = launch.range.min;
  json["max"] = launch.range.max;
  json["first_batch"] = launch.batch;
  json["claim"] = claim_;
  if (launch.steps) json["steps"] = *launch.steps;
  return json;
}

void Agent::enter_new(const JobPicture& picture) {
  const std::string& name = options_.launch.spec.name;
  if (picture.spec.is_object() && picture.spec.value("claim", "") == claim_) return entered(true);
  if (picture.revision("spec") != 0) {
    return fail({Code::kConflict, text("the store has a job ", name, " already: choose another ",
                                       "--name, or go on with it by edl resume ", name)});
  }
  const Wanted wanted{.workers = options_.launch.wanted, .by = "edl run", .reason = "The start."};
  const store::Change change{
      .conditions = {{job_store_->key("spec"), 0}},
      .puts = {{job_store_->key("spec"), json_line(spec_json()), 0},
               {job_store_->key("wanted"), json_line(wanted_json(wanted)), 0}}};
  job_store_->change(change, [this](bool happened) { entered(happened); });
}

void Agent::enter_again(const JobPicture& picture) {
  if (picture.spec.is_object() && picture.spec.value("claim", "") == claim_) return entered(true);
  const Wanted wanted{
      .workers = options_.launch.wanted, .by = "edl resume", .reason = "The job goes on."};
  store::Change change{.conditions = {{job_store_->key("spec"), picture.revision("spec")},
                                      {job_store_->key("wanted"), picture.revision("wanted")}},
                       .puts = {{job_store_->key("spec"), json_line(spec_json()), 0},
                                {job_store_->key("wanted"), json_line(wanted_json(wanted)), 0}}};
  change.deletes.push_back(job_store_->key("result"));
  for (const auto& [id, member] : picture.members) {
    // Workers of ours are from the run before; a lease of theirs may outlast them.
    const bool is_ours = member.is_object() && member.value("host", Json()) == options_.host;
    const bool is_over = is_ours || !picture.is_alive(id);
    if (!is_over || change.deletes.size() >= kDeletesMax) continue;
    if (picture.in_view(id) == nullptr) change.deletes.push_back(job_store_->key("members/" + id));
  }
  // Those of the last view are said to have ended, so that nobody waits for them to come back.
  for (const model::Member& member :
       picture.view ? picture.view->members : std::vector<model::Member>()) {
    const bool is_known = picture.members.contains(member.id);
    if (member.host != options_.host && (!is_known || picture.is_alive(member.id))) continue;
    const Json ended{{"id", member.id},
                     {"host", member.host},
                     {"state", name(model::WorkerState::kExited)},
                     {"reason", "The run before has ended."}};
    change.puts.push_back({job_store_->key("members/" + member.id), json_line(ended), 0});
  }
  job_store_->change(change, [this](bool happened) { entered(happened); });
}

void Agent::enter_as_guest(const JobPicture& picture) {
  const std::string& name = options_.launch.spec.name;
  if (!picture.spec.is_object() || picture.result.is_object()) {
    return fail({Code::kNotFound, text("no job ", name, " runs at this store")});
  }
  registration_ = std::make_unique<store::Registration>(
      *store_,
      store::RegistrationOptions{
          .key = job_store_->key("agents/" + claim_),
          .value = json_line(
              {{"host", options_.host}, {"pid", options_.pid}, {"workers", options_.join_workers}}),
          // It may be lost and come back; more are asked for once.
          .on_change = [this, has_asked = false](bool registered) mutable {
            if (registered && !std::exchange(has_asked, true)) ask_for_more();
          }});
}

// More workers are wanted only when our share of them is known: else others start them.
void Agent::ask_for_more() {
  const std::uint32_t most = options_.launch.range.max;
  job_store_->edit_wanted(
      [this, most](Wanted& wanted) {
        wanted.workers = std::min(wanted.workers + options_.join_workers, most);
        wanted.by = "edl join";
        wanted.reason = text(options_.host, " joined.");
      },
      [this] { follow(); });
}

void Agent::entered(bool happened) {
  if (!happened) {  // somebody else was first: look again
    return job_store_->look([this](const JobPicture& picture) { enter(picture); });
  }
  const Launch& launch = options_.launch;
  tell({{"event", "started"},
        {"job", launch.spec.name},
        {"dir", options_.paths.dir},
        {"workers", launch.wanted},
        {"min", launch.range.min},
        {"max", launch.range.max},
        {"wanted", launch.wanted},
        {"logical_workers", launch.logical_workers},
        {"batch", launch.batch.global},
        {"seed", launch.spec.seed},
        {"resumed", options_.mode == AgentMode::kResume}});
  follow();
}

}  // namespace edl::agent
