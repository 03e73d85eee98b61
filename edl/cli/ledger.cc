// `edl ledger`: which step trained what, and who was there.
#include <map>

#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/store_answers.h"
#include "edl/data/verify_job.h"

namespace edl::cli {
namespace {

using Members = std::map<model::Generation, std::vector<std::string>>;

Members members_of(const std::vector<model::View>& views) {
  Members members;
  for (const model::View& view : views) {
    for (const model::Member& member : view.members) {
      members[view.generation].push_back(member.id);
    }
  }
  return members;
}

std::string record_json(const model::LedgerRecord& record, const std::vector<std::string>& who) {
  return object_line({{"generation", record.generation.value()},
                      {"step", record.step.value()},
                      {"epoch", record.epoch.value()},
                      {"position", record.position},
                      {"samples", record.samples},
                      {"applied", record.applied},
                      {"digest", hex(record.digest)},
                      {"members", who}});
}

std::string record_text(const model::LedgerRecord& record, const std::vector<std::string>& who) {
  return text("step ", record.step, ": epoch ", record.epoch, ", positions ", record.position,
              " to ", record.position + record.samples, ", generation ", record.generation,
              record.applied ? "" : ", not applied", ", digest ", hex(record.digest).substr(0, 16),
              who.empty() ? "" : ", by ", list_text(who), "\n");
}

class ShowLedger final : public JobCommand {
 public:
  explicit ShowLedger(CLI::App& app) : JobCommand(app) {}

 private:
  Result<void> answer(os::Disk& disk, const JobFiles& job, Output& out) override {
    EDL_TRY(const JobHistory history, read_history(disk, job.dir));
    EDL_TRY(const auto views, data::known_views(disk, job.dir));
    Members members = members_of(views);
    for (const model::LedgerRecord& record : history.records) {
      if (!out.open()) return {};
      const auto& who = members[record.generation];
      out.add(json() ? record_json(record, who) : record_text(record, who));
    }
    if (history.problem.empty()) return {};
    return Error{Code::kCorrupt, text("the ledgers of job ", job.name, " are not in order: ",
                                      history.problem, ". `edl verify` tells all.")};
  }
};

}  // namespace

void add_ledger(CommandLine& line) {
  line.add<ShowLedger>(
      line.root(), {"ledger", "List the steps that a job trained.", "edl ledger digits-1 --json"});
}

}  // namespace edl::cli
