#include "edl/cli/status_report.h"

#include <algorithm>

#include "edl/agent/loose_fields.h"
#include "edl/base/text.h"
#include "edl/model/batch.h"

namespace edl::cli {
namespace {

using agent::OrderedJson;
using agent::word;

// The field of the first of these that has it, else null.
OrderedJson field(const char* name, std::initializer_list<const Json*> places) {
  for (const Json* place : places) {
    const auto found = place->is_object() ? place->find(name) : place->end();
    if (found != place->end()) return OrderedJson::parse(json_line(*found));
  }
  return nullptr;
}

struct State {
  std::string state;
  std::string reason;
};

State ended_state(const JobStory& story, const std::string& job) {
  const std::string kind = word(story.end, "event");
  if (kind == "failed") return {"failed", word(story.end, "reason")};
  if (kind == "finished") {
    const std::string state = word(story.end, "state");
    return {state.empty() ? "finished" : state, word(story.end, "reason")};
  }
  return {"stopped", text("What ran it ended without a result; edl resume ", job, " goes on.")};
}

State running_state(const agent::JobPicture& picture) {
  if (picture.result.is_object()) {
    return {word(picture.result, "state"), word(picture.result, "reason")};
  }
  if (picture.wanted && picture.wanted->stop) return {"stopping", picture.wanted->reason};
  if (!picture.view) return {"starting", "The first workers are starting."};
  const std::string state = word(picture.progress, "state");
  const std::string reason = word(picture.progress, "reason");
  return {state.empty() ? "running" : state, reason.empty() ? picture.view->reason : reason};
}

OrderedJson worker_report(const agent::JobPicture& picture, const std::string& id) {
  const Json& member = picture.members.at(id);
  const model::Member* seat = picture.in_view(id);
  const std::string said = word(member, "state");
  const bool in_view = seat != nullptr && said != "leaving" && said != "exited";
  OrderedJson out{{"id", id},
                  {"pid", field("pid", {&member})},
                  {"host", field("host", {&member})},
                  {"rank", nullptr},
                  {"state", in_view        ? "member"
                            : said.empty() ? "starting"
                                           : said},
                  {"leader", picture.leader_id() == id},
                  {"logical", OrderedJson::array()}};
  if (seat == nullptr) return out;
  out["rank"] = static_cast<std::uint64_t>(seat - picture.view->members.data());
  for (const model::LogicalWorker v : seat->logical) out["logical"].push_back(v.value());
  return out;
}

// By rank, then those that are in no view.
OrderedJson running_workers(const agent::JobPicture& picture) {
  std::vector<OrderedJson> workers;
  for (const auto& [id, member] : picture.members) {
    if (picture.is_alive(id) || picture.in_view(id) != nullptr)
      workers.push_back(worker_report(picture, id));
  }
  const auto rank = [](const OrderedJson& worker) {
    return worker["rank"].is_null() ? ~std::uint64_t{0} : worker["rank"].get<std::uint64_t>();
  };
  std::stable_sort(workers.begin(), workers.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return workers;
}

OrderedJson ended_workers(const JobStory& story) {
  OrderedJson workers = OrderedJson::array();
  if (!story.view.is_object() || !story.view.contains("members")) return workers;
  for (const Json& member : story.view["members"]) {
    const auto known = story.workers.find(word(member, "id"));
    const Json none;
    const Json& worker = known == story.workers.end() ? none : known->second;
    workers.push_back({{"id", word(member, "id")},
                       {"pid", field("pid", {&worker})},
                       {"host", field("host", {&worker})},
                       {"rank", field("rank", {&member})},
                       {"state", "exited"},
                       {"leader", false},
                       {"logical", field("logical", {&member})}});
  }
  return workers;
}

OrderedJson checkpoint_report(const Json& kept, const Json& told) {
  const Json& checkpoint = kept.is_object() ? kept : told;
  if (!checkpoint.is_object()) return nullptr;
  return {{"step", field("step", {&checkpoint})}, {"path", field("path", {&checkpoint})}};
}

// Where the step after a told one begins.
Json after(const Json& step, const std::optional<agent::Launch>& launch) {
  if (!step.is_object() || !step.contains("step")) return {};
  const std::uint64_t end = agent::number(step, "position") + agent::number(step, "samples");
  const std::uint64_t epoch = agent::number(step, "epoch");
  const bool ends_epoch = launch && launch->samples == end;
  return {{"step", step["step"]},
          {"epoch", epoch + (ends_epoch ? 1 : 0)},
          {"position", ends_epoch ? 0 : end}};
}

// Step, epoch and position, all of one moment: where the next step begins.
Json reached(const StatusFacts& facts, const Json& result, const Json& progress) {
  for (const Json* place : {&result, &progress}) {
    if (place->is_object() && place->contains("step") && place->contains("position")) return *place;
  }
  const Json end = facts.story.result();
  if (end.is_object() && end.contains("step")) return end;
  return after(facts.story.step, facts.launch);
}

bool is_plain(const StatusFacts& facts, const agent::JobPicture& picture) {
  if (facts.launch) return facts.launch->spec.mode == model::JobMode::kStopResume;
  return word(picture.spec, "mode") == model::name(model::JobMode::kStopResume);
}

OrderedJson share(const OrderedJson& step, const OrderedJson& steps) {
  if (!step.is_number() || !steps.is_number() || steps.get<double>() <= 0) return nullptr;
  return std::min(1.0, step.get<double>() / steps.get<double>());
}

}  // namespace

void JobStory::take(const Json& event) {
  const std::string kind = word(event, "event");
  if (kind == "started") {
    started = event;
    end = Json();
    workers.clear();
  }
  if (kind == "view") view = event;
  if (kind == "step") step = event;
  if (kind == "checkpoint") checkpoint = event;
  if (kind == "worker") workers[word(event, "id")] = event;
  if (kind == "finished" || kind == "failed") end = event;
}

Json JobStory::result() const {
  if (!end.is_object()) return {};
  Json result = end;
  const std::string state = word(end, "state");
  result["state"] = state.empty() ? word(end, "event") : state;
  if (end.contains("steps")) result["step"] = end["steps"];
  if (end.contains("epochs")) result["epoch"] = end["epochs"];
  return result;
}

OrderedJson status_report(const StatusFacts& facts) {
  const JobStory& story = facts.story;
  const bool online = facts.picture.has_value();
  const agent::JobPicture picture = facts.picture.value_or(agent::JobPicture());
  State state = online ? running_state(picture) : ended_state(story, facts.job);
  if (!online && !facts.problem.empty()) state = {"waiting", facts.problem};
  const Json kept =
      facts.launch && facts.launch->steps ? Json{{"steps", *facts.launch->steps}} : Json();
  const Json& progress = picture.progress;
  const Json view = picture.view ? Json(*picture.view) : story.view;
  OrderedJson out{{"job", facts.job}, {"state", state.state}, {"reason", state.reason}};
  out["generation"] = field("generation", {&view});
  const Json here = reached(facts, picture.result, progress);
  out["step"] = field("step", {&here});
  out["steps"] = field("steps", {&progress, &picture.spec, &kept});
  out["epoch"] = field("epoch", {&here});
  out["position"] = field("position", {&here});
  out["loss"] = field("loss", {&progress, &story.step});
  out["samples_per_second"] = field("samples_per_second", {&progress, &story.step});
  out["seconds_left"] = field("seconds_left", {&progress});
  out["progress"] = share(out["step"], out["steps"]);
  out["min"] = field("min", {&picture.spec, &story.started});
  out["max"] = field("max", {&picture.spec, &story.started});
  const Json wanted = picture.wanted ? Json{{"wanted", picture.wanted->workers}} : Json();
  out["wanted"] = field("wanted", {&wanted, &story.started});
  const Json fixed =
      facts.launch ? Json{{"logical_workers", facts.launch->logical_workers}} : Json();
  const bool plain = is_plain(facts, picture);
  out["logical_workers"] =
      plain ? OrderedJson() : field("logical_workers", {&picture.spec, &fixed});
  out["useful_sizes"] = OrderedJson::array();
  if (out["logical_workers"].is_number_unsigned()) {
    const auto v = out["logical_workers"].get<std::uint32_t>();
    if (v >= 1 && v <= model::kLogicalWorkersMax) out["useful_sizes"] = model::useful_sizes(v);
  }
  out["reproducible"] =
      plain ? OrderedJson() : field("reproducible", {&picture.spec, &story.started});
  out["leader"] = picture.leader_id().empty() ? OrderedJson() : OrderedJson(picture.leader_id());
  out["store"] = {{"urls", facts.urls}, {"reachable", online}};
  out["checkpoint"] = checkpoint_report(picture.checkpoint, story.checkpoint);
  out["workers"] = online ? running_workers(picture) : ended_workers(story);
  out["mode"] = model::name(plain ? model::JobMode::kStopResume : model::JobMode::kElastic);
  return out;
}

std::string status_text(const OrderedJson& report) {
  const auto shown = [&](const char* name) {
    const OrderedJson& value = report[name];
    if (value.is_null()) return std::string("-");
    if (value.is_number_float()) return text(value.get<double>());
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::string out = text("job ", shown("job"), ": ", shown("state"), ". ", shown("reason"), "\n");
  const bool plain = word(report, "mode") == model::name(model::JobMode::kStopResume);
  if (!plain) {
    out += text("  step ", shown("step"), " of ", shown("steps"), ", epoch ", shown("epoch"),
                ", loss ", shown("loss"), ", ", shown("samples_per_second"), " samples/s, ",
                shown("seconds_left"), " s left\n");
  }
  out += text("  workers wanted ", shown("wanted"), " (", shown("min"), " to ", shown("max"), ")",
              plain ? "" : text(", useful ", shown("useful_sizes")), ", view ", shown("generation"),
              ", leader ", shown("leader"), "\n");
  if (report["reproducible"] == false) {
    out += "  not reproducible: numbers had other bits in a run before\n";
  }
  if (report["checkpoint"].is_object()) {
    out += text("  checkpoint of step ", report["checkpoint"]["step"].dump(), " in ",
                word(report["checkpoint"], "path"), "\n");
  }
  for (const OrderedJson& worker : report["workers"]) {
    out += text("  ", word(worker, "id"), ": ", word(worker, "state"), ", process ",
                worker["pid"].dump(), " on ", word(worker, "host"),
                plain ? text(", rank ", worker["rank"].dump())
                      : text(", carries ", worker["logical"].dump()),
                "\n");
  }
  return out;
}

}  // namespace edl::cli
