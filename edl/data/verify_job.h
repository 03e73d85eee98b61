// Verifies a job from what it left in its directory: the ledgers, the views, the events and, if
// there is one, a trace of the samples that forward saw.
#pragma once

#include <string>
#include <vector>

#include "edl/data/trace.h"
#include "edl/data/verify.h"
#include "edl/model/view.h"
#include "edl/os/disk.h"

namespace edl::data {

// DIR/ledger/ID.ledger and DIR/ledger/ID.views.
std::string ledger_path(const std::string& job_dir, const model::WorkerId& id);
std::string views_path(const std::string& job_dir, const model::WorkerId& id);
// The workers that left a ledger, sorted; none when there is no folder.
Result<std::vector<model::WorkerId>> ledger_owners(os::Disk& disk, const std::string& job_dir);
// The views that the job's workers knew, ascending, each once. kCorrupt when one cannot be read.
Result<std::vector<model::View>> known_views(os::Disk& disk, const std::string& job_dir);

struct VerifyOptions {
  std::string job_dir;
  JobData data{};
  std::string trace_path{};  // empty: none
};
Result<Verification> verify_job(os::Disk& disk, const VerifyOptions& options);

}  // namespace edl::data
