// `edl scale` and `edl stop`: change what is wanted of a running job.
#include "edl/agent/event_log.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_place.h"
#include "edl/cli/scale_plan.h"

namespace edl::cli {
namespace {

store::Change wanted_change(const agent::JobPicture& picture, const agent::Wanted& wanted) {
  const std::string key = picture.prefix + "wanted";
  return {.conditions = {{key, picture.revision("wanted")}},
          .puts = {{key, json_line(agent::wanted_json(wanted)), 0}}};
}

std::uint64_t generation_in(const Json& effect) {
  const auto found = effect.is_object() ? effect.find("generation") : effect.end();
  const bool known = found != effect.end() && found->is_number_unsigned();
  return known ? found->get<std::uint64_t>() : 0;
}

class Scale final : public Command {
 public:
  explicit Scale(CLI::App& app) {
    options_.add_to(app);
    add_number(app, "--workers", workers_, "how many workers to have")->required();
    app.add_flag("--wait", wait_, "until they train together");
    app.add_flag("--dry-run", dry_run_, "only tell what would happen");
    add_duration(app, "--wait-limit", wait_limit_, "how long to wait at most; 2m when not given");
  }

  Result<void> run(Output& out) override {
    JobConnection connection(options_);
    EDL_TRY(const JobPlace place, connection.find());
    while (true) {
      const auto looked = connection.look(place);
      if (!looked.ok()) return refuse(looked.error(), out);
      const agent::JobPicture& picture = *looked;
      const ScalePlan plan = plan_scale(place.name, picture, workers_);
      if (!plan.accepted) return refuse(plan, out);
      if (dry_run_) return tell(plan, agent::OrderedJson(), out);
      const agent::Wanted wanted{
          .workers = plan.to, .stop = false, .by = "edl scale", .reason = plan.reason};
      EDL_TRY(const bool happened, connection.change(wanted_change(picture, wanted)));
      if (!happened) continue;  // somebody else changed it meanwhile
      if (!wait_) return tell(plan, agent::OrderedJson(), out);
      return wait(connection, place, plan, out);
    }
  }

 private:
  Result<void> wait(JobConnection& connection, const JobPlace& place, const ScalePlan& plan,
                    Output& out) {
    agent::OrderedJson effect;
    const auto reached = [&](const agent::JobPicture& now) {
      if (now.result.is_object()) return true;
      if (!now.view || now.view->members.size() != plan.to) return false;
      const std::uint64_t generation = now.view->generation.value();
      if (generation_in(now.effect) < generation && plan.to != plan.from) return false;
      effect["generation"] = generation;
      const Json pause = now.effect.is_object() ? now.effect.value("pause_ms", Json()) : Json();
      effect["pause_ms"] = pause.is_number() ? pause.get<double>() : 0.0;
      return true;
    };
    const auto waited = connection.wait_until(place, reached, wait_limit_);
    if (!waited.ok()) {
      return Error{waited.error().code, text("job ", place.name, " was asked for ", plan.to,
                                             " workers, but ", waited.error().message)};
    }
    if (effect.is_null()) {
      return Error{Code::kConflict,
                   text("job ", place.name, " ended before it had ", plan.to, " workers")};
    }
    return tell(plan, effect, out);
  }

  Result<void> tell(const ScalePlan& plan, const agent::OrderedJson& effect, Output& out) const {
    if (!options_.json) {
      out.add(plan.reason + "\n");
      return {};
    }
    agent::OrderedJson answer{{"accepted", plan.accepted}, {"from", plan.from}, {"to", plan.to}};
    answer["predicted_pause_ms"] = nullptr;
    if (plan.predicted_pause_ms) answer["predicted_pause_ms"] = *plan.predicted_pause_ms;
    answer["reason"] = plan.reason;
    if (effect.is_object()) answer.update(effect);
    out.add(agent::event_line(answer));
    return {};
  }

  Result<void> refuse(const ScalePlan& plan, Output& out) const {
    if (options_.json) {
      EDL_TRY(tell(plan, agent::OrderedJson(), out));
    }
    return Error{Code::kInvalid, plan.reason};
  }

  // Of a job that cannot be asked.
  Result<void> refuse(const Error& why, Output& out) const {
    if (options_.json) {
      out.add(agent::event_line({{"accepted", false}, {"reason", why.message + "."}}));
    }
    return why;
  }

  JobOptions options_;
  std::uint64_t workers_ = 0;
  bool wait_ = false;
  bool dry_run_ = false;
  Duration wait_limit_ = 2min;
};

class Stop final : public Command {
 public:
  explicit Stop(CLI::App& app) {
    options_.add_to(app);
    add_duration(app, "--wait-limit", wait_limit_,
                 "how long to wait for the end; 2m when not given");
  }

  Result<void> run(Output& out) override {
    JobConnection connection(options_);
    EDL_TRY(const JobPlace place, connection.find());
    EDL_TRY(ask(connection, place));
    Json result;
    const auto ended = [&](const agent::JobPicture& now) {
      result = now.result;
      return result.is_object();
    };
    const auto waited = connection.wait_until(place, ended, wait_limit_);
    if (!waited.ok()) {
      return Error{waited.error().code,
                   text("job ", place.name, " was asked to stop, but ", waited.error().message)};
    }
    agent::OrderedJson answer{{"accepted", true}};
    for (const char* name : {"state", "step", "epoch", "position", "reason"}) {
      if (result.contains(name)) answer[name] = agent::OrderedJson::parse(json_line(result[name]));
    }
    out.add(options_.json
                ? agent::event_line(answer)
                : text("Job ", place.name,
                       " has ended: ", answer.value("state", std::string("stopped")), ".\n"));
    return {};
  }

 private:
  Result<void> ask(JobConnection& connection, const JobPlace& place) const {
    while (true) {
      EDL_TRY(const agent::JobPicture picture, connection.look(place));
      if (picture.result.is_object()) return {};
      agent::Wanted wanted = picture.wanted.value_or(agent::Wanted());
      wanted.stop = true;
      wanted.by = "edl stop";
      wanted.reason = "edl stop asked for it.";
      EDL_TRY(const bool happened, connection.change(wanted_change(picture, wanted)));
      if (happened) return {};
    }
  }

  JobOptions options_;
  Duration wait_limit_ = 2min;
};

}  // namespace

void add_scale(CommandLine& line) {
  line.add<Scale>(line.root(), {"scale", "Change the number of workers of a running job.",
                                "edl scale mlp-1 --workers=4 --wait\n"
                                "  edl scale mlp-1 --workers=3 --dry-run --json"});
  line.add<Stop>(line.root(),
                 {"stop", "End a job with a checkpoint; edl resume goes on.", "edl stop mlp-1"});
}

}  // namespace edl::cli
