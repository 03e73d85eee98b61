// `edl replay`: computes one step of a job's past again, from a checkpoint before it.
#include <algorithm>
#include <charconv>
#include <map>

#include "edl/agent/job_directory.h"
#include "edl/agent/numerics.h"
#include "edl/agent/program.h"
#include "edl/base/text.h"
#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/reader.h"
#include "edl/cli/ask_program.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/data/verify_job.h"
#include "edl/os/posix/machine.h"
#include "edl/train/replay.h"

namespace edl::cli {
namespace {

using Records = std::vector<model::LedgerRecord>;  // step s at s - 1

// The steps of which the directory has a checkpoint, newest first.
std::vector<std::uint64_t> checkpoint_steps(os::Disk& disk, const std::string& dir) {
  std::vector<std::uint64_t> steps;
  const auto names = disk.list(dir + "/checkpoints");
  if (!names.ok()) return steps;
  for (const std::string& name : *names) {
    std::uint64_t step = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data(), end, step).ptr == end) steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

// The newest whole one before the step. One of a history that was lost with all members is older
// than the view that trained its step again.
model::Step begin_of(os::Disk& disk, const JobFiles& job, const Records& records,
                     std::uint64_t step) {
  for (const std::uint64_t at : checkpoint_steps(disk, job.dir)) {
    if (at == 0 || at >= step || at > records.size()) continue;
    const auto opened =
        checkpoint::open_checkpoint(disk, checkpoint::checkpoint_path(job.dir, model::Step(at)));
    if (opened.ok() && opened->state.generation >= records[at - 1].generation)
      return model::Step(at);
  }
  return {};
}

Result<std::vector<model::View>> views_of(os::Disk& disk, const JobFiles& job,
                                          std::span<const model::LedgerRecord> records) {
  EDL_TRY(const auto known, data::known_views(disk, job.dir));
  std::map<model::Generation, const model::View*> by_generation;
  for (const model::View& view : known) by_generation[view.generation] = &view;
  std::vector<model::View> out;
  for (const model::LedgerRecord& record : records) {
    if (!out.empty() && out.back().generation == record.generation) continue;
    const auto view = by_generation.find(record.generation);
    if (view == by_generation.end()) {
      return Error{Code::kNotFound, text("nobody has kept view ", record.generation,
                                         ", in which step ", record.step, " was trained")};
    }
    out.push_back(train::alone_in(*view->second, record.step, record.epoch, record.position));
  }
  return out;
}

class Replay final : public JobCommand {
 public:
  Replay(CLI::App& app, Console& console) : JobCommand(app), console_(console) {
    add_number(app, "--step", step_, "the step, from 1")->required();
  }

 private:
  Result<void> answer(os::Disk& disk, const JobFiles& job, Output& out) override {
    EDL_TRY(const JobHistory history, read_history(disk, job.dir));
    if (step_ == 0 || step_ > history.records.size()) {
      return Error{Code::kNotFound,
                   text("step ", step_, " of job ", job.name, " is not in the ledger, which has ",
                        history.records.size(), " steps")};
    }
    const model::Step begin = begin_of(disk, job, history.records, step_);
    const std::span<const model::LedgerRecord> past(history.records.data() + begin.value(),
                                                    step_ - begin.value());
    train::ReplayPlan plan;
    if (begin != model::Step()) plan.checkpoint = checkpoint::checkpoint_path(job.dir, begin);
    EDL_TRY(plan.views, views_of(disk, job, past));
    plan.last = model::Step(step_);
    EDL_TRY(const agent::Launch launch, agent::read_job(disk, agent::JobPaths{job.dir}));
    EDL_TRY(const std::vector<model::Digest> digests, compute(disk, launch, plan, past.size()));
    const auto told = tell(past, digests, begin, out);
    if (told.ok()) return {};
    const std::string difference = other_numbers(disk, launch);
    if (difference.empty()) return told;
    return Error{told.error().code, text(told.error().message, "; but ", difference)};
  }

  // Why this machine could give other digests; empty when there is no reason to.
  std::string other_numbers(os::Disk& disk, const agent::Launch& launch) const {
    const auto sink = silent_log_sink();
    const auto system = os::posix_system({.log_sink = sink.get()});
    const auto question = question_of(disk, launch.spec);
    if (!question.ok()) return "";
    const auto facts = ask_program(*system, *question);
    if (!facts.ok()) return "";
    return model::fingerprint_difference(facts->fingerprint, launch.fingerprint);
  }

  // The program as a worker of the job would run it here.
  Result<ProgramQuestion> question_of(os::Disk& disk, const model::JobSpec& spec) const {
    ProgramQuestion question{.program = spec.program, .args = spec.args};
    EDL_TRY(question.command,
            agent::worker_command(disk, runners_of(os::this_machine(), console_, spec.python),
                                  spec.program, spec.args));
    EDL_TRY(question.environment,
            agent::numeric_environment(spec.isa, os::cpu_features(), console_.blas_core));
    question.environment.emplace_back(train::kSeedVariable, std::to_string(spec.seed));
    return question;
  }

  Result<std::vector<model::Digest>> compute(os::Disk& disk, const agent::Launch& launch,
                                             const train::ReplayPlan& plan,
                                             std::size_t count) const {
    const auto sink = silent_log_sink();
    const auto system = os::posix_system({.log_sink = sink.get()});
    EDL_TRY(const ProgramQuestion program, question_of(disk, launch.spec));
    std::vector<model::Digest> digests;
    std::optional<Error> problem;
    const auto on_frame = [&](train::ParentFrame type, const Json& body) {
      if (type != train::ParentFrame::kReplayed) return;
      if (body.contains("error")) {
        problem = Error{Code::kUnavailable, body.value("error", std::string())};
        return;
      }
      const auto digest = model::digest_from(body.value("digest", Json()));
      if (digest.ok()) digests.push_back(*digest);
    };
    const Json request = train::replay_json(Json(launch.spec), launch.logical_workers, plan);
    EDL_TRY(const os::Exit exit,
            talk_with_program(*system,
                              {.command = program.command,
                               .role = train::kRoleReplay,
                               .environment = program.environment,
                               .request = {{train::ParentFrame::kReplay, request}}},
                              on_frame));
    if (problem) return *problem;
    if (digests.size() != count) {
      return Error{Code::kUnavailable, text(program.command.front(), " computed ", digests.size(),
                                            " of ", count, " steps: ", os::exit_text(exit))};
    }
    return digests;
  }

  Result<void> tell(std::span<const model::LedgerRecord> past,
                    const std::vector<model::Digest>& digests, model::Step begin,
                    Output& out) const {
    const bool is_equal = digests.back() == past.back().digest;
    std::size_t first = 0;  // that differs
    while (first < past.size() && digests[first] == past[first].digest) ++first;
    if (json()) {
      Json all{{"step", step_},
               {"digest", model::digest_json(digests.back())},
               {"recorded", model::digest_json(past.back().digest)},
               {"equal", is_equal},
               {"from", begin}};
      if (first < past.size()) all["first_different"] = past[first].step;
      out.add(json_line(all) + "\n");
    } else if (is_equal) {
      out.add(
          text("step ", step_, " was computed again, from ",
               begin == model::Step() ? "the beginning" : text("the checkpoint of step ", begin),
               " on, and has the same digest\n"));
    }
    if (is_equal) return {};
    return Error{Code::kCorrupt, text("step ", step_, " has another digest when it is computed ",
                                      "again; the first step that differs is ", past[first].step)};
  }

  Console& console_;
  std::uint64_t step_ = 0;
};

}  // namespace

void add_replay(CommandLine& line, Console& console) {
  line.add<Replay>(
      line.root(),
      {"replay", "Compute a step of a job's past again.", "edl replay digits-1 --step=100"},
      console);
}

}  // namespace edl::cli
