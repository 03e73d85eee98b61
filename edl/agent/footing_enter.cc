// How an agent comes to its job: a new one, one that goes on, or one that runs elsewhere.
#include <algorithm>
#include <map>

#include "edl/agent/footing.h"
#include "edl/checkpoint/reader.h"
#include "edl/data/verify_job.h"
#include "edl/data/views_file.h"
#include "edl/model/worker.h"

namespace edl::agent {
namespace {

constexpr std::size_t kDeletesMax = 100;  // in one transaction
constexpr std::size_t kFaultsTold = 3;    // of broken checkpoints

Json ended_member(const model::Member& member, const char* reason) {
  return {{"id", member.id},
          {"host", member.host},
          {"state", model::name(model::WorkerState::kExited)},
          {"reason", reason}};
}

}  // namespace

void Footing::enter(const JobPicture& picture) {
  switch (options_.mode) {
    case AgentMode::kRun:
      return enter_new(picture);
    case AgentMode::kResume:
      return enter_again(picture);
    case AgentMode::kJoin:
      return enter_as_guest(picture);
  }
}

Json Footing::spec_json() const {
  const Launch& launch = options_.launch;
  Json json = launch.spec;
  json["dir"] = options_.paths.dir;
  json["host"] = options_.host;
  json["started"] = wall_seconds(system_.wall_time());
  json["logical_workers"] = launch.logical_workers;
  model::write_samples(json, launch.samples);
  json["min"] = launch.range.min;
  json["max"] = launch.range.max;
  json["first_batch"] = launch.batch;
  json["claim"] = claim_;
  json["fingerprint"] = launch.fingerprint;
  json["reproducible"] = launch.reproducible;
  if (launch.steps) json["steps"] = *launch.steps;
  return json;
}

void Footing::enter_new(const JobPicture& picture) {
  const std::string& name = options_.launch.spec.name;
  if (picture.spec.is_object() && picture.spec.value("claim", "") == claim_) return entered(true);
  if (picture.revision("spec") != 0) {
    return callbacks_.on_failed(
        {Code::kConflict, text("the store has a job ", name, " already: choose another ",
                               "--name, or go on with it by edl resume ", name)});
  }
  const Wanted wanted{.workers = options_.launch.wanted, .by = "edl run", .reason = "The start."};
  store::Change change{.conditions = {{job_store_->key("spec"), 0}},
                       .puts = {{job_store_->key("spec"), json_line(spec_json()), 0},
                                {job_store_->key("wanted"), json_line(wanted_json(wanted)), 0}}};
  if (options_.inherited) {
    const auto put = [&](const std::string& key, const Json& value) {
      change.puts.push_back({job_store_->key(key), json_line(value), 0});
    };
    const model::View& view = options_.inherited->view;
    put("view", view);
    put("checkpoint", options_.inherited->checkpoint);
    put("members/" + view.members[0].id, ended_member(view.members[0], "It was before this job."));
  }
  job_store_->change(change, [this](bool happened) { entered(happened); });
}

void Footing::enter_again(const JobPicture& picture) {
  if (picture.spec.is_object() && picture.spec.value("claim", "") == claim_) return entered(true);
  if (const auto refusal = other_numbers(picture)) return callbacks_.on_failed(*refusal);
  if (const auto refusal = nothing_to_go_on_from(picture)) return callbacks_.on_failed(*refusal);
  const Wanted wanted{
      .workers = options_.launch.wanted, .by = "edl resume", .reason = "The job goes on."};
  store::Change change{.conditions = {{job_store_->key("spec"), picture.revision("spec")},
                                      {job_store_->key("wanted"), picture.revision("wanted")}},
                       .puts = {{job_store_->key("spec"), json_line(spec_json()), 0}}};
  // What was asked for since we first looked counts more than what we were told before.
  if (!wanted_before_) wanted_before_ = picture.revision("wanted");
  if (*wanted_before_ == picture.revision("wanted")) {
    change.puts.push_back({job_store_->key("wanted"), json_line(wanted_json(wanted)), 0});
  }
  change.deletes.push_back(job_store_->key("result"));
  say_ended(picture, change);
  tell_untold_views(picture);
  job_store_->change(change, [this](bool happened) { entered(happened); });
}

// Workers of the run before; a lease of theirs may outlast them. Guests on this machine have an
// agent of their own.
bool Footing::is_ours(const Json& member) const {
  return member.is_object() && member.value("host", Json()) == options_.host &&
         !member.contains("agent");
}

// Guests that train on still have the numbers of before: nobody mixes them with ours.
std::optional<Error> Footing::other_numbers(const JobPicture& picture) const {
  const Json before = picture.spec.is_object() ? picture.spec.value("fingerprint", Json()) : Json();
  const auto theirs = model::fingerprint_from(before);
  if (!theirs.ok()) return std::nullopt;
  const std::string difference =
      model::fingerprint_difference(options_.launch.fingerprint, *theirs);
  if (difference.empty()) return std::nullopt;
  const std::string* guest = living_guest(picture);
  if (guest == nullptr) return std::nullopt;
  return Error{
      Code::kConflict,
      text("cannot resume job ", options_.launch.spec.name, " while worker ", *guest,
           " of another machine still trains it: ", difference, "; or end edl join there first")};
}

// Somebody else's worker that still trains the job.
const std::string* Footing::living_guest(const JobPicture& picture) const {
  const auto found = std::ranges::find_if(picture.members, [&](const auto& entry) {
    return !is_ours(entry.second) && picture.is_alive(entry.first);
  });
  return found == picture.members.end() ? nullptr : &found->first;
}

// Checkpoints were written and none is whole: to begin again without a word would look like going
// on. Guests that train on have the state itself, and wrote the newest where we cannot look.
std::optional<Error> Footing::nothing_to_go_on_from(const JobPicture& picture) const {
  if (!picture.checkpoint.is_object() || living_guest(picture) != nullptr) return std::nullopt;
  JsonReader in(picture.checkpoint, "checkpoint");
  std::vector<checkpoint::Recorded> recorded;
  in.read_list("recorded", recorded, checkpoint::recorded_from);
  if (!in.finish().ok()) return std::nullopt;  // a worker will say so
  checkpoint::Choice choice =
      checkpoint::newest_valid(system_.disk(), options_.paths.dir, recorded);
  if (choice.checkpoint || choice.passed_over.empty()) return std::nullopt;
  const std::size_t all = choice.passed_over.size();
  if (all > kFaultsTold) {
    choice.passed_over.resize(kFaultsTold);
    choice.passed_over.push_back(text(all - kFaultsTold, " older ones are not whole either"));
  }
  return Error{Code::kCorrupt, text("cannot resume job ", options_.launch.spec.name,
                                    ": no checkpoint is whole (", list_text(choice.passed_over),
                                    "). Restore one, or train anew under another name")};
}

void Footing::say_ended(const JobPicture& picture, store::Change& change) const {
  for (const auto& [id, member] : picture.members) {
    const bool is_over = is_ours(member) || !picture.is_alive(id);
    if (!is_over || change.deletes.size() >= kDeletesMax) continue;
    if (picture.in_view(id) == nullptr) change.deletes.push_back(job_store_->key("members/" + id));
  }
  // Those of the last view are said to have ended, so that nobody waits for them to come back.
  for (const model::Member& member :
       picture.view ? picture.view->members : std::vector<model::Member>()) {
    const auto known = picture.members.find(member.id);
    const bool is_known = known != picture.members.end();
    const bool is_guests = is_known ? !is_ours(known->second) : member.host != options_.host;
    if (is_guests && (!is_known || picture.is_alive(member.id))) continue;
    const Json ended = ended_member(member, "The run before has ended.");
    change.puts.push_back({job_store_->key("members/" + member.id), json_line(ended), 0});
  }
}

// Views whose members ended before they could tell them: as their ledgers have them, and the last
// one as it was published.
void Footing::tell_untold_views(const JobPicture& picture) {
  if (options_.launch.spec.mode == model::JobMode::kStopResume) return;
  std::map<model::Generation, model::View> views;
  const auto owners = data::ledger_owners(system_.disk(), options_.paths.dir);
  for (const model::WorkerId& owner : owners.ok() ? *owners : std::vector<model::WorkerId>()) {
    const auto known =
        data::read_views(system_.disk(), data::views_path(options_.paths.dir, owner));
    if (!known.ok()) continue;  // edl verify says so
    for (const model::View& view : *known) views.emplace(view.generation, view);
  }
  if (picture.view) views.emplace(picture.view->generation, *picture.view);
  for (const auto& [generation, view] : views) {
    Json event = view;
    event["event"] = "view";
    tell(event);  // if it is newer than those that were
  }
}

void Footing::enter_as_guest(const JobPicture& picture) {
  const std::string& name = options_.launch.spec.name;
  if (!picture.spec.is_object() || picture.result.is_object()) {
    return callbacks_.on_failed({Code::kNotFound, text("no job ", name, " runs at this store")});
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
            callbacks_.on_registered(registered);
          }});
}

// More workers are wanted only when our share of them is known: else others start them.
void Footing::ask_for_more() {
  const std::uint32_t most = options_.launch.range.max;
  job_store_->edit_wanted(
      [this, most](Wanted& wanted) {
        wanted.workers = std::min(wanted.workers + options_.join_workers, most);
        wanted.by = "edl join";
        wanted.reason = text(options_.host, " joined.");
      },
      [this] { callbacks_.on_entered(); });
}

void Footing::ask_for_fewer(std::function<void()> done) {
  const auto less = [this](Wanted& wanted) {
    const std::uint32_t spare =
        wanted.workers - std::min(wanted.workers, options_.launch.range.min);
    wanted.workers -= std::min(spare, options_.join_workers);
    wanted.by = "edl join";
    wanted.reason = text(options_.host, " left.");
  };
  job_store_->edit_wanted(less, std::move(done));
}

void Footing::ask_to_stop() {
  const auto stop = [](Wanted& wanted) {
    wanted.stop = true;
    wanted.by = "edl run";
    wanted.reason = "Ctrl-C or SIGTERM.";
  };
  job_store_->edit_wanted(stop, [] {});
}

void Footing::entered(bool happened) {
  if (!happened) {  // somebody else was first: look again
    return job_store_->look([this](const JobPicture& picture) { enter(picture); });
  }
  const auto written = write_run_file(/*entering=*/false);
  if (!written.ok()) return callbacks_.on_failed(written.error());
  callbacks_.on_entered();
}

}  // namespace edl::agent
