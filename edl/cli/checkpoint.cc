// `edl checkpoint`: asks a running job for a checkpoint now.
#include "edl/agent/event_log.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_place.h"

namespace edl::cli {
namespace {

std::uint64_t number_in(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  const bool is_known = found != object.end() && found->is_number_unsigned();
  return is_known ? found->get<std::uint64_t>() : 0;
}

class AskCheckpoint final : public Command {
 public:
  explicit AskCheckpoint(CLI::App& app) {
    options_.add_to(app);
    app.add_flag("--wait", wait_, "until it is written and recorded");
    add_duration(app, "--wait-limit", wait_limit_, "how long to wait at most; 2m when not given");
  }

  Result<void> run(Output& out) override {
    JobConnection connection(options_);
    EDL_TRY(const JobPlace place, connection.find());
    while (true) {
      EDL_TRY(const agent::JobPicture picture, connection.look(place));
      EDL_TRY(check(place, picture));
      const std::uint64_t wish = number_in(picture.save, "number") + 1;
      const std::string key = picture.prefix + "save";
      const Json value{{"number", wish}, {"by", "edl checkpoint"}};
      EDL_TRY(const bool happened,
              connection.change({.conditions = {{key, picture.revision("save")}},
                                 .puts = {{key, json_line(value), 0}}}));
      if (!happened) continue;  // somebody else asked meanwhile
      if (wait_) return wait(connection, place, wish, out);
      const std::string reason = "The state after one of the next steps is kept.";
      out.add(options_.json ? agent::event_line({{"accepted", true}, {"reason", reason}})
                            : text("Job ", place.name, " was asked. ", reason, "\n"));
      return {};
    }
  }

 private:
  static Result<void> check(const JobPlace& place, const agent::JobPicture& picture) {
    if (picture.result.is_object()) return JobConnection::ended(place, picture.result);
    const Json plain(model::name(model::JobMode::kStopResume));
    if (picture.spec.value("mode", Json()) != plain) return {};
    return Error{Code::kInvalid, text("job ", place.name, " is in mode stop-resume: its command ",
                                      "itself writes what it needs to go on")};
  }

  Result<void> wait(JobConnection& connection, const JobPlace& place, std::uint64_t wish,
                    Output& out) const {
    Json written;
    const auto reached = [&](const agent::JobPicture& now) {
      if (number_in(now.checkpoint, "answers") >= wish) written = now.checkpoint;
      return written.is_object() || now.result.is_object();
    };
    const auto waited = connection.wait_until(place, reached, wait_limit_);
    if (!waited.ok()) {
      return Error{
          waited.error().code,
          text("job ", place.name, " was asked for a checkpoint, but ", waited.error().message)};
    }
    if (!written.is_object()) {
      return Error{Code::kConflict, text("job ", place.name, " ended before; its last checkpoint ",
                                         "is the one of its end: edl status ", place.name)};
    }
    return tell(place, written, out);
  }

  Result<void> tell(const JobPlace& place, const Json& written, Output& out) const {
    agent::OrderedJson answer;
    for (const char* name : {"step", "path", "bytes", "stall_ms", "write_ms"}) {
      if (written.contains(name)) answer[name] = agent::OrderedJson(written[name]);
    }
    out.add(options_.json
                ? agent::event_line(answer)
                : text("Job ", place.name, " has a checkpoint of step ", number_in(written, "step"),
                       ": ", json_line(written.value("path", Json())), "\n"));
    return {};
  }

  JobOptions options_;
  bool wait_ = false;
  Duration wait_limit_ = 2min;
};

}  // namespace

void add_checkpoint(CommandLine& line) {
  line.add<AskCheckpoint>(line.root(), {"checkpoint", "Ask a running job for a checkpoint now.",
                                        "edl checkpoint mlp-1 --wait"});
}

}  // namespace edl::cli
