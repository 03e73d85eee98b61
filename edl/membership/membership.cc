#include "edl/membership/membership.h"

namespace edl::membership {
namespace {

constexpr Duration kTick = 25ms;
constexpr Duration kReadAgain = 100ms;
constexpr Duration kCallLimit = 5s;
constexpr Duration kPublishLimit = 600s;

wire::EndpointOptions endpoint_options(const MembershipOptions& options) {
  wire::EndpointOptions endpoint{.job = options.job, .id = options.id, .secret = options.secret};
  endpoint.strangers_max = 1024;
  endpoint.connection.shared_memory = options.shared_memory;
  return endpoint;
}

}  // namespace

Membership::Membership(os::System& system, store::Store& store, MembershipOptions options,
                       MembershipEvents events)
    : system_(system),
      store_(store),
      options_(std::move(options)),
      events_(std::move(events)),
      keys_(options_.job),
      log_(system.log().room("membership")),
      core_(options_.id, options_.rules),
      silence_(options_.silent_steps_max),
      mesh_(system, endpoint_options(options_),
            {.link =
                 [this](const model::WorkerId& id, bool up) {
                   const std::shared_ptr<bool> alive = alive_;
                   tell([&](Core& core) { core.on_link(id, up); });
                   if (*alive) events_.link(id, up);
                 },
             .silent =
                 [this](const model::WorkerId& id) {
                   log_.info("a link is silent", {{"with", id}, {"limit", silence_.limit()}});
                   tell([&](Core& core) { core.on_silent(id); });
                 },
             .frame = [this](const model::WorkerId& id,
                             wire::Frame frame) { on_frame(id, std::move(frame)); },
             .bulk = events_.bulk,
             .bulk_place = events_.bulk_place}) {}

Membership::~Membership() { *alive_ = false; }

Result<void> Membership::start() {
  EDL_TRY(const os::Address address, mesh_.listen(options_.listen));
  const WorkerKey worker{.id = options_.id,
                         .address = os::address_text(address),
                         .host = options_.host,
                         .pid = options_.pid,
                         .state = "spare",
                         .reason = "it has started"};
  registration_ = std::make_unique<store::Registration>(
      store_,
      store::RegistrationOptions{
          .key = keys_.member(options_.id), .value = json_line(worker), .lease = options_.lease});
  follow();
  beat();
  return {};
}

template <class Fact>
void Membership::tell(Fact&& fact) {
  core_.set_time(system_.now(), silence_.limit(), silence_.quiet_step());
  fact(core_);
  act();
}

void Membership::act() {
  for (Action& action : core_.take_actions()) queue_.push_back(std::move(action));
  if (acting_) return;
  const std::shared_ptr<bool> alive = alive_;
  acting_ = true;
  while (!queue_.empty()) {
    const Action action = std::move(queue_.front());
    queue_.pop_front();
    perform(action);
    if (!*alive) return;
  }
  acting_ = false;
}

void Membership::perform(const Action& action) {
  const auto* const send = std::get_if<Send>(&action);
  if (send != nullptr) return perform(*send);
  if (std::holds_alternative<Promised>(action)) return events_.phase(model::FaultPhase::kPromise);
  log_.info(action_text(action));
  if (const auto* take = std::get_if<TakeLead>(&action)) return perform(*take);
  if (const auto* read = std::get_if<ReadView>(&action)) return perform(*read);
  if (const auto* announce = std::get_if<Announce>(&action)) return perform(*announce);
  if (const auto* publish = std::get_if<Publish>(&action)) return perform(*publish);
  if (const auto* complain = std::get_if<Complain>(&action)) return perform(*complain);
  if (const auto* replace = std::get_if<Replace>(&action)) return perform(*replace);
  if (const auto* enter = std::get_if<EnterView>(&action)) {
    events_.act(action);
    return mesh_.enter(enter->view.generation);
  }
  events_.act(action);
}

void Membership::perform(const Send& send) {
  log_.debug("sends", {{"to", send.to}, {"message", json_line(send.message)}});
  mesh_.send(send.to, {.type = kMembershipMessage}, send.message);
}

void Membership::perform(const TakeLead& take) {
  if (leadership_.revision != static_cast<store::Revision>(take.after.value())) return;
  store::LeaderKey key(store_, keys_.leader());
  taking_ = key.take(take.who, leadership_, kCallLimit, [this](Result<store::Leadership> now) {
    if (!now.ok()) return;  // the core tries again while it has a reason to
    if (now->revision > leadership_.revision) leadership_ = *now;
    tell([&](Core& core) {
      core.on_leader(model::Ballot(static_cast<std::uint64_t>(now->revision)), now->id);
    });
  });
}

// The leader's key first: somebody else may lead already.
void Membership::perform(const ReadView& read) {
  store::LeaderKey key(store_, keys_.leader());
  reading_ = key.find([this, read](Result<store::Leadership> now) {
    if (!now.ok()) return read_again(read);
    if (now->revision > leadership_.revision) leadership_ = *now;
    const model::Ballot ballot(static_cast<std::uint64_t>(now->revision));
    if (ballot == read.ballot) return read_view(read);
    tell([&](Core& core) { core.on_leader(ballot, now->id); });
  });
}

void Membership::read_again(const ReadView& read) {
  reading_ = system_.after(kReadAgain, [this, read] { perform(read); });
}

void Membership::read_view(const ReadView& read) {
  reading_ =
      store_.find(keys_.view(), [this, read](const Result<std::optional<store::KeyValue>>& found) {
        if (!found.ok()) return read_again(read);
        std::optional<model::View> view;
        model::Revision revision;
        if (*found) {
          const auto json = parse_json((*found)->value);
          auto parsed = json.ok() ? model::view_from(*json) : Result<model::View>(json.error());
          if (!parsed.ok()) {
            return log_.error("the view cannot be read", {{"why", parsed.error().message}});
          }
          view = std::move(parsed).value();
          revision = model::Revision(static_cast<std::uint64_t>((*found)->mod_revision));
        }
        tell([&](Core& core) { core.on_elected(read.ballot, view, revision); });
      });
}

os::Pending Membership::write_as_leader(const std::string& key, const std::string& value,
                                        store::Done<bool> done) {
  const auto ballot = static_cast<store::Revision>(core_.ballot().value());
  const store::Change change{.conditions = {{keys_.leader(), ballot}}, .puts = {{key, value, 0}}};
  return store_.change(change, [done = std::move(done)](Result<store::Changed> changed) {
    if (!changed.ok()) return done(changed.error());
    done(changed->happened);
  });
}

void Membership::perform(const Announce& announce) {
  const Json value{{"generation", announce.generation},
                   {"cause", name(announce.cause)},
                   {"who", announce.who},
                   {"reason", announce.reason}};
  announcing_ = write_as_leader(keys_.change(), json_line(value), [this](Result<bool> written) {
    tell([&](Core& core) { core.on_announced(written.ok() && *written); });
  });
}

void Membership::perform(const Publish& publish) {
  events_.phase(model::FaultPhase::kPublish);
  const std::string value = json_line(publish.view);
  store::Change change{
      .conditions = {{keys_.leader(), static_cast<store::Revision>(publish.ballot.value())},
                     {keys_.view(), static_cast<store::Revision>(publish.after.value())}},
      .puts = events_.beside_view(publish.view)};
  change.puts.push_back({keys_.view(), value, 0});
  publishing_ = store::settle(
      store_, std::move(change), keys_.view(), kPublishLimit,
      [this, value, publish](Result<store::Settled> settled) {
        if (!settled.ok()) return perform(publish);
        if (settled->happened || (settled->stored && settled->stored->value == value)) {
          const store::Revision revision =
              settled->happened ? settled->revision : settled->stored->mod_revision;
          return tell([&](Core& core) {
            core.on_published(true, model::Revision(static_cast<std::uint64_t>(revision)));
          });
        }
        // Somebody else leads now, or has published; the facts of the store will say so.
        log_.info("the view was not published: another leader was faster");
        tell([&](Core& core) { core.on_published(false, {}); });
      });
}

void Membership::perform(const Complain& complain) {
  const Json value{{"accused", complain.accused}, {"reason", complain.reason}};
  const std::string key = keys_.complaint(complain.ballot, options_.id);
  const std::uint64_t ballot = complain.ballot.value();
  std::erase_if(complaining_, [&](const auto& entry) { return entry.first < ballot; });
  complaining_[ballot] = store::settle(store_, {.puts = {{key, json_line(value), 0}}}, key,
                                       kPublishLimit, [](const Result<store::Settled>&) {});
}

// The core asks again while it has a reason to.
void Membership::perform(const Replace& replace) {
  const Json value{{"worker", replace.who}, {"reason", replace.reason}};
  replacing_ = write_as_leader(keys_.replace(), json_line(value), [](const Result<bool>&) {});
}

void Membership::on_terms(const Terms& terms) {
  tell([&](Core& core) { core.on_terms(terms); });
}

void Membership::on_batch(std::uint64_t global, const std::string& reason) {
  tell([&](Core& core) { core.on_batch(global, reason); });
}

void Membership::on_state(const model::Position& here) {
  tell([&](Core& core) { core.on_state(here); });
}
void Membership::on_no_state(const std::string& reason) {
  tell([&](Core& core) { core.on_no_state(reason); });
}
void Membership::on_completed(const model::Position& here, Duration step) {
  if (step > Duration::zero()) silence_.on_step(step);
  tell([&](Core& core) { core.on_completed(here); });
}
void Membership::on_leave(model::Cause cause) {
  tell([&](Core& core) { core.on_leave(cause); });
}
void Membership::on_gone(const model::WorkerId& id) {
  mesh_.forget(id);
  tell([&](Core& core) { core.on_registered(id, {.exited = true}); });
}

void Membership::follow() {
  following_ = store_.follow(keys_.prefix(), [this](Result<store::Fact> fact) {
    if (fact.ok()) return on_fact(*fact);
    log_.error("cannot follow the job", {{"why", fact.error().message}});
    events_.act(Exit{text("cannot follow the job in the store: ", fact.error().message)});
  });
}

void Membership::on_fact(const store::Fact& fact) {
  if (fact.kind == store::Fact::Kind::kCurrent) {
    return tell([](Core& core) { core.on_current(); });
  }
  const std::string name = fact.kv.key.substr(keys_.prefix().size());
  const std::string workers = "members/";
  if (fact.kind == store::Fact::Kind::kPut) return on_key(name, fact.kv);
  if (name.starts_with(workers)) {
    const std::string id = name.substr(workers.size());
    tell([&](Core& core) { core.on_unregistered(id); });
  }
}

void Membership::on_key(const std::string& name, const store::KeyValue& kv) {
  const std::vector<std::string_view> path = split(name, '/');
  if (path.size() == 2 && path[0] == "members") return on_worker(std::string(path[1]), kv);
  if (path.size() == 3 && path[0] == "accuse") {
    const std::uint64_t ballot = std::strtoull(std::string(path[1]).c_str(), nullptr, 10);
    return tell(
        [&](Core& core) { core.on_complaint(model::Ballot(ballot), std::string(path[2])); });
  }
  const auto warn = [&](const Error& error) {
    log_.warn("a key cannot be read", {{"key", kv.key}, {"why", error.message}});
  };
  if (name == "leader") {
    const auto leader = store::read_leadership(kv);
    if (!leader.ok()) return warn(leader.error());
    if (leader->revision > leadership_.revision) leadership_ = *leader;
    const model::Ballot ballot(static_cast<std::uint64_t>(leader->revision));
    return tell([&](Core& core) { core.on_leader(ballot, leader->id); });
  }
  if (name != "view" && name != "wanted") return events_.key(name, kv.value);
  const auto json = parse_json(kv.value);
  if (!json.ok()) return warn(json.error());
  if (name == "wanted") {
    const auto wanted = wanted_from(*json);
    if (!wanted.ok()) return warn(wanted.error());
    return tell([&](Core& core) { core.on_wanted(*wanted); });
  }
  const auto view = model::view_from(*json);
  if (!view.ok()) return warn(view.error());
  const model::Revision revision(static_cast<std::uint64_t>(kv.mod_revision));
  tell([&](Core& core) { core.on_view(*view, revision); });
}

void Membership::on_worker(const std::string& id, const store::KeyValue& kv) {
  const auto json = parse_json(kv.value);
  const auto worker = json.ok() ? worker_key_from(*json) : Result<WorkerKey>(json.error());
  if (!worker.ok()) {
    return log_.warn("a worker's key cannot be read", {{"why", worker.error().message}});
  }
  const bool exited = worker->state == "exited";
  if (exited) {
    mesh_.forget(id);
  } else {
    mesh_.know(id, worker->address);
  }
  tell([&](Core& core) { core.on_registered(id, {worker->address, worker->host, exited}); });
}

void Membership::on_frame(const model::WorkerId& from, wire::Frame frame) {
  if (frame.header.type != kMembershipMessage) return events_.frame(from, std::move(frame));
  const auto message = message_from(frame.body);
  if (!message.ok()) {
    log_.warn("a message cannot be read", {{"from", from}, {"why", message.error().message}});
    return mesh_.cut(from);
  }
  if (message->kind == Kind::kHandOver) events_.phase(model::FaultPhase::kHandover);
  tell([&](Core& core) { core.on_message(from, *message); });
}

void Membership::beat() {
  mesh_.beat(core_.leader(), {silence_.limit(), silence_.limit_of_others()});
  tell([](Core& core) { core.look(); });
  timer_ = system_.after(kTick, [this] { beat(); });
}

}  // namespace edl::membership
