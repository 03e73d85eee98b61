// `edl chaos`: kills workers of a running job, one after the other, to see that it does not matter.
#include "edl/agent/event_log.h"
#include "edl/base/random.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_place.h"

namespace edl::cli {
namespace {

class Chaos final : public Command {
 public:
  explicit Chaos(CLI::App& app) {
    options_.add_to(app);
    add_duration(app, "--kill-every", every_, "time between two kills; 15s when not given");
    add_number(app, "--seed", seed_, "which workers die; 0 when not given");
    add_number(app, "--count", count_, "end after so many kills; 0 for never");
  }

  Result<void> run(Output& out) override {
    JobConnection connection(options_);
    EDL_TRY(const JobPlace place, connection.find());
    if (!place.run) return connection.not_running(place);
    EDL_TRY(connection.look(place));
    Random random(seed_);
    std::uint64_t kills = 0;
    while (out.open() && (count_ == 0 || kills < count_)) {
      // A job that ends takes its store along: that is the end here too.
      const auto ended = connection.wait_until(
          place, [](const agent::JobPicture& now) { return now.result.is_object(); }, every_);
      if (ended.ok() || ended.error().code != Code::kTimeout) break;
      const auto picture = connection.look(place);
      if (!picture.ok() || picture->result.is_object()) break;
      if (kill(connection, place, *picture, random, out)) ++kills;
    }
    if (!options_.json) out.add(text(kills, " workers were killed.\n"));
    return {};
  }

 private:
  struct Victim {
    std::string id;
    int pid = 0;
  };

  static std::vector<Victim> victims(const JobConnection& connection,
                                     const agent::JobPicture& picture) {
    std::vector<Victim> out;
    for (const auto& [id, member] : picture.members) {
      const auto worker = picture.is_alive(id) ? member : Json();
      JsonReader in(worker, "member");
      Victim victim{.id = id};
      std::string host;
      in.read("pid", victim.pid);
      in.read("host", host);
      if (in.finish().ok() && host == connection.machine().host) out.push_back(victim);
    }
    return out;
  }

  bool kill(JobConnection& connection, const JobPlace& place, const agent::JobPicture& picture,
            Random& random, Output& out) const {
    const std::vector<Victim> all = victims(connection, picture);
    if (all.empty()) return false;
    const Victim& victim = all[random.below(all.size())];
    if (!os::signal_descendant(victim.pid, place.run->pid, os::Signal::kKill).ok()) return false;
    const agent::OrderedJson answer{{"killed", victim.id}, {"pid", victim.pid}};
    out.add(options_.json ? agent::event_line(answer)
                          : text("Killed ", victim.id, ", process ", victim.pid, ".\n"));
    out.flush();
    return true;
  }

  JobOptions options_;
  Duration every_ = 15s;
  std::uint64_t seed_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

void add_chaos(CommandLine& line) {
  line.add<Chaos>(line.root(), {"chaos", "Kill workers of a running job, as a drill.",
                                "edl chaos mlp-1 --kill-every=15s --seed=7"});
}

}  // namespace edl::cli
