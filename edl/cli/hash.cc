// `edl hash`: the hash of a training state on disk.
#include "edl/base/text.h"
#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/reader.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/store_answers.h"

namespace edl::cli {
namespace {

bool is_checkpoint(os::Disk& disk, const std::string& path) {
  return disk.exists(text(path, "/", checkpoint::kManifestName));
}

// A job's final state is its newest checkpoint. One that is damaged is told, not passed over: the
// hash of an older state would be the answer to another question.
Result<std::string> newest_checkpoint(os::Disk& disk, const std::string& dir) {
  EDL_TRY(const auto steps, checkpoint::list_checkpoints(disk, dir));
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const std::string path = checkpoint::checkpoint_path(dir, *step);
    if (is_checkpoint(disk, path)) return path;
  }
  return Error{Code::kNotFound, text("job directory ", dir, " has no checkpoint")};
}

Result<std::string> checkpoint_of(os::Disk& disk, const std::string& path) {
  if (is_checkpoint(disk, path)) return path;
  const auto job = find_job(disk, path);
  if (job.ok() && job->mode == model::JobMode::kStopResume) return nothing_recorded(*job);
  if (disk.exists(checkpoint::checkpoints_path(path))) return newest_checkpoint(disk, path);
  if (job.ok()) return newest_checkpoint(disk, job->dir);
  if (!disk.exists(path)) return job.error();
  return Error{Code::kNotFound,
               text("\"", path, "\" is neither a checkpoint nor a job's ",
                    "directory: it has neither ", checkpoint::kManifestName, " nor job.json")};
}

class Hash final : public Command {
 public:
  explicit Hash(CLI::App& app) {
    app.add_option("PATH", path_, "a checkpoint, or a job's directory")->required()->type_name("");
    app.add_flag("--json", json_, "answer with one JSON object");
  }

  Result<void> run(Output& out) override {
    CommandDisk files;
    EDL_TRY(const std::string path, checkpoint_of(files.disk(), path_));
    EDL_TRY(const auto checkpoint, checkpoint::open_checkpoint(files.disk(), path));
    EDL_TRY(const std::string hash, checkpoint::hash_of(files.disk(), checkpoint));
    const std::uint64_t step = checkpoint.state.position.step.value();
    out.add(json_ ? object_line({{"state_hash", hash}, {"step", step}, {"path", path}})
                  : hash + "\n");
    return {};
  }

 private:
  std::string path_;
  bool json_ = false;
};

}  // namespace

void add_hash(CommandLine& line) {
  line.add<Hash>(line.root(), {"hash", "Tell the hash of a checkpoint or of a job's final state.",
                               "edl hash edl-jobs/digits-1/checkpoints/200"});
}

}  // namespace edl::cli
