// `edl status` and `edl leader`: how jobs are, whether they run or not.
#include "edl/agent/event_file.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_place.h"
#include "edl/cli/status_report.h"

namespace edl::cli {
namespace {

Result<StatusFacts> facts_of(JobConnection& connection, const JobPlace& place) {
  StatusFacts facts{.job = place.name, .launch = place.launch, .urls = place.urls};
  if (place.running) {
    auto picture = connection.look(place);
    if (picture.ok()) {
      facts.picture = std::move(picture).value();
    } else if (!place.has_directory()) {
      return picture.error();
    } else {
      facts.problem = picture.error().message;
    }
  }
  if (place.has_directory()) {
    EDL_TRY(agent::read_events(connection.disk(), place.paths.events(),
                               [&](const Json& event) { facts.story.take(event); }));
  }
  return facts;
}

class Status final : public Command {
 public:
  explicit Status(CLI::App& app) { options_.add_to(app, /*required=*/false); }

  Result<void> run(Output& out) override {
    if (!options_.job.empty()) return tell(out);
    const std::vector<std::string> names = JobConnection(options_).names();
    if (names.empty() && !options_.json) {
      out.add("No jobs in edl-jobs here. Start one with edl run, or name one.\n");
    }
    for (const std::string& name : names) {
      options_.job = name;
      EDL_TRY(tell(out));
    }
    return {};
  }

 private:
  Result<void> tell(Output& out) {
    JobConnection connection(options_);
    EDL_TRY(const JobPlace place, connection.find());
    EDL_TRY(const StatusFacts facts, facts_of(connection, place));
    const agent::OrderedJson report = status_report(facts);
    out.add(options_.json ? agent::event_line(report) : status_text(report));
    return {};
  }

  JobOptions options_;
};

class Leader final : public Command {
 public:
  explicit Leader(CLI::App& app) { options_.add_to(app); }

  Result<void> run(Output& out) override {
    JobConnection connection(options_);
    EDL_TRY(const JobPlace place, connection.find());
    EDL_TRY(const agent::JobPicture picture, connection.look(place));
    if (picture.result.is_object()) return JobConnection::ended(place, picture.result);
    const std::string id = picture.leader_id();
    if (id.empty()) {
      return Error{Code::kNotFound, text("job ", place.name, " has no leader yet")};
    }
    const model::Member* seat = picture.in_view(id);
    agent::OrderedJson answer{{"id", id}, {"rank", nullptr}, {"host", nullptr}};
    if (seat != nullptr) {
      answer["rank"] = static_cast<std::uint64_t>(seat - picture.view->members.data());
      answer["host"] = seat->host;
    }
    out.add(options_.json ? agent::event_line(answer)
            : seat == nullptr
                ? text(id, ", in no view\n")
                : text(id, ", rank ", answer["rank"].dump(), " on ", seat->host, "\n"));
    return {};
  }

 private:
  JobOptions options_;
};

}  // namespace

void add_status(CommandLine& line) {
  line.add<Status>(line.root(), {"status", "Show how a job is, or all jobs here.",
                                 "edl status\n"
                                 "  edl status mlp-1 --json"});
  line.add<Leader>(line.root(),
                   {"leader", "Show which worker leads a job.", "edl leader mlp-1 --json"});
}

}  // namespace edl::cli
