// `edl explain`: why the job's view changed, and what each change cost.
#include <map>

#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/data/lines.h"
#include "edl/model/view.h"

namespace edl::cli {
namespace {

// A change of view as an event told it. The second event of a view knows what it cost.
struct Change {
  std::string line{};
  Json event{};

  bool completed() const { return event.contains("pause_ms"); }
};
using Changes = std::map<std::uint64_t, Change>;  // by generation

Result<Changes> read_changes(os::Disk& disk, const std::string& path) {
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  data::LineReader lines(*file, kEventBytesMax);
  Changes changes;
  for (;;) {
    EDL_TRY(const auto line, lines.next());
    if (!line) return changes;
    if (line->find("\"view\"") == std::string_view::npos) continue;
    auto event = parse_json(*line, {.bytes_max = kEventBytesMax});
    if (!event.ok() || !event->is_object()) {
      return Error{Code::kCorrupt, text(path, ", line ", lines.line_number(), ": not an event")};
    }
    if (event->value("event", Json()) != "view") continue;
    std::uint64_t generation = 0;
    JsonReader in(*event, text(path, ", line ", lines.line_number()));
    in.read("generation", generation);
    EDL_TRY(in.finish());
    Change change{std::string(*line), std::move(*event)};
    if (changes.contains(generation) && !change.completed()) continue;
    changes[generation] = std::move(change);
  }
}

// A field as people read it: text without quotes, nothing when it is absent.
std::string field(const Json& event, const char* name) {
  const auto found = event.find(name);
  if (found == event.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : json_line(*found);
}

std::string milliseconds(const Json& event, const char* name) {
  const auto found = event.find(name);
  if (found == event.end() || !found->is_number()) return "?";
  const auto duration = std::chrono::duration<double, std::milli>(found->get<double>());
  return duration_text(std::chrono::duration_cast<Duration>(duration));
}

std::string members_text(const Json& event) {
  std::vector<std::string> ids;
  const auto members = event.find("members");
  if (members != event.end() && members->is_array()) {
    for (const Json& member : *members) {
      if (member.is_object()) ids.push_back(field(member, "id"));
    }
  }
  return text(ids.size(), ids.size() == 1 ? " member" : " members", ids.empty() ? "" : ", ",
              list_text(ids));
}

// What a pause goes into; the names of the fields begin with `prefix`.
std::string parts_text(const Json& event, const std::string& prefix) {
  const auto part = [&](const char* name) { return milliseconds(event, (prefix + name).c_str()); };
  return text(part("pause_ms"), ": ", part("detect_ms"), " to detect, ", part("agree_ms"),
              " to agree (", part("transfer_ms"), " of it handing over), ", part("resume_ms"),
              " to resume.");
}

std::string cost_text(const Json& event) {
  std::string out = text(" It paused training for ", parts_text(event, ""));
  if (event.value("predicted_pause_ms", Json()).is_number()) {
    out += event.contains("predicted_resume_ms")
               ? text(" Expected were ", parts_text(event, "predicted_"))
               : text(" Expected were ", milliseconds(event, "predicted_pause_ms"), ".");
  }
  const auto count = [&](const char* name) {
    const Json number = event.value(name, Json(0));
    return number.is_number() ? number : Json(0);  // null: nobody knows
  };
  if (count("steps_redone") != 0 || count("parts_redone") != 0) {
    out += text(" Computed again: ", field(event, "steps_redone"), " steps and ",
                field(event, "parts_redone"), " parts.");
  }
  if (count("steps_lost") != 0) {
    out += text(" Behind the checkpoint, ", field(event, "steps_lost"), " steps were lost.");
  }
  return out;
}

std::string change_text(const Change& change) {
  const Json& event = change.event;
  const std::string who = field(event, "who");
  std::string reason = field(event, "reason");
  if (!reason.empty() && !reason.ends_with('.')) reason += '.';
  const std::string step = field(event, "first_step");
  const std::string where = step.empty()
                                ? ""
                                : text(" from step ", step, " (epoch ", field(event, "epoch"),
                                       ", position ", field(event, "position"), ")");
  return text("view ", field(event, "generation"), where, " with ", members_text(event),
              ". Cause: ", field(event, "cause"), who.empty() ? "" : text(", by ", who), ". ",
              reason, change.completed() ? cost_text(event) : "", "\n");
}

class Explain final : public JobCommand {
 public:
  explicit Explain(CLI::App& app) : JobCommand(app) {}

 private:
  bool answers_plain_jobs() const override { return true; }

  Result<void> answer(os::Disk& disk, const JobFiles& job, Output& out) override {
    const std::string path = job.dir + "/events.jsonl";
    if (!disk.exists(path)) {
      return Error{Code::kNotFound,
                   text("job ", job.name, " has no events yet: there is no ", path)};
    }
    EDL_TRY(const Changes changes, read_changes(disk, path));
    for (const auto& [generation, change] : changes) {
      if (!out.open()) break;
      out.add(json() ? change.line + "\n" : change_text(change));
    }
    return {};
  }
};

}  // namespace

void add_explain(CommandLine& line) {
  line.add<Explain>(line.root(), {"explain", "Tell why the members of a job changed, and the cost.",
                                  "edl explain digits-1"});
}

}  // namespace edl::cli
