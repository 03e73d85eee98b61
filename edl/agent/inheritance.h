// A new job that begins where another one was, as `edl run --from` asks for: with a checkpoint of
// it, and with its history up to there. From then on the two know nothing of each other.
#pragma once

#include <string>

#include "edl/agent/job_directory.h"
#include "edl/checkpoint/reader.h"
#include "edl/model/ledger_record.h"

namespace edl::agent {

// What a new job begins with.
struct Source {
  std::string dir{};  // of the job that it was
  Launch launch{};
  checkpoint::Checkpoint checkpoint{};
  std::vector<model::LedgerRecord> records{};  // up to the checkpoint
};

// `path` is DIR/checkpoints/STEP, or the directory DIR of a job, which means its newest checkpoint
// that is whole and part of its history. Or a folder that a program has saved, whose job is known.
Result<Source> find_source(os::Disk& disk, const std::string& path);

// The request takes from the source what it does not say itself. kInvalid when it says what cannot
// be another: seed and logical workers belong to the history.
Result<void> take_over(const Source& source, LaunchRequest& request);
// Whether the planned job can go on from there.
Result<void> check_source(const Source& source, const Launch& launch);

// What the store of the new job has before its first view.
struct Inheritance {
  model::View view{};  // in which nobody trains any more; its generation is the last one
  Json checkpoint{};   // the key of that name
  static constexpr const char* kMember = "from";  // of that view: nobody who could come back
};

// Copies history and checkpoint into a job's directory; before its job.json is written.
Result<Inheritance> inherit(os::Disk& disk, const Source& source, const JobPaths& paths);

}  // namespace edl::agent
