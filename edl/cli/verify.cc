// `edl verify`: the proof that each sample was trained exactly once in each epoch.
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/cli/store_answers.h"
#include "edl/data/verify_job.h"

namespace edl::cli {
namespace {

Object verification_object(const data::Verification& found) {
  Object violations = Object::array();
  for (const data::Violation& violation : found.violations) {
    violations.push_back({{"kind", data::name(violation.kind)},
                          {"step", violation.step.value()},
                          {"detail", violation.detail}});
  }
  Object object{{"verdict", data::name(found.verdict)},
                {"steps", found.steps},
                {"epochs", found.epochs},
                {"samples", found.samples},
                {"missing", found.missing},
                {"repeated", found.repeated},
                {"conflicting", found.conflicting},
                {"violations", std::move(violations)}};
  if (found.verdict == data::Verdict::kIncomplete) object["reason"] = found.reason;
  return object;
}

std::string verification_text(const data::Verification& found) {
  std::string out = text(data::name(found.verdict), ": ", found.steps, " steps, ", found.epochs,
                         " whole epochs, ", found.samples, " samples");
  if (!found.proven()) {
    out += text("; ", found.missing, " missing, ", found.repeated, " repeated, ", found.conflicting,
                " conflicting");
  }
  out += "\n";
  for (const data::Violation& violation : found.violations) {
    out += text("  ", data::name(violation.kind), ": ", violation.detail, "\n");
  }
  return out;
}

class Verify final : public JobCommand {
 public:
  explicit Verify(CLI::App& app) : JobCommand(app) {
    app.add_option("--trace", trace_, "join what --trace-samples wrote")->type_name("FILE");
  }

 private:
  Result<void> answer(os::Disk& disk, const JobFiles& job, Output& out) override {
    EDL_TRY(const data::Verification found, data::verify_job(disk, {job.dir, job.data, trace_}));
    out.add(json() ? object_line(verification_object(found)) : verification_text(found));
    switch (found.verdict) {
      case data::Verdict::kProven:
        return {};
      case data::Verdict::kIncomplete:
        return Error{Code::kNotFound,
                     text("job ", job.name, " cannot be verified: ", found.reason)};
      case data::Verdict::kViolated:
        break;
    }
    return Error{Code::kCorrupt, text("job ", job.name, " did not train each sample once: ",
                                      found.violations.front().detail)};
  }

  std::string trace_;
};

}  // namespace

void add_verify(CommandLine& line) {
  line.add<Verify>(line.root(), {"verify", "Prove that a job trained each sample once per epoch.",
                                 "edl verify digits-1 --trace=samples.jsonl"});
}

}  // namespace edl::cli
