#include "edl/data/verify_job.h"

#include <algorithm>
#include <map>
#include <set>

#include "edl/base/text.h"
#include "edl/data/ledger_file.h"
#include "edl/data/lines.h"
#include "edl/data/trace_samples.h"
#include "edl/data/views_file.h"

namespace edl::data {
namespace {

constexpr std::size_t kEventBytesMax = 16 << 20;

std::string ledger_folder(const std::string& job_dir) { return job_dir + "/ledger"; }

// The names before `ending` of the files that have it.
Result<std::vector<std::string>> owners(os::Disk& disk, const std::string& job_dir,
                                        std::string_view ending) {
  std::vector<std::string> ids;
  if (!disk.exists(ledger_folder(job_dir))) return ids;
  EDL_TRY(const auto names, disk.list(ledger_folder(job_dir)));
  for (const std::string& name : names) {
    if (name.ends_with(ending)) ids.push_back(name.substr(0, name.size() - ending.size()));
  }
  return ids;
}

// How many steps the job said that it finished; 0 when it did not say.
Result<std::uint64_t> finished_steps(os::Disk& disk, const std::string& job_dir) {
  const std::string path = job_dir + "/events.jsonl";
  std::uint64_t steps = 0;
  if (!disk.exists(path)) return steps;
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  LineReader lines(*file, kEventBytesMax);
  for (;;) {
    EDL_TRY(const auto line, lines.next());
    if (!line) return steps;
    if (line->find("\"finished\"") == std::string_view::npos) continue;
    const auto event = parse_json(*line, {.bytes_max = kEventBytesMax});
    if (!event.ok() || !event->is_object() || event->value("event", Json()) != "finished") continue;
    JsonReader in(*event, "event");
    in.read_optional("steps", steps);
  }
}

class JobVerifier {
 public:
  JobVerifier(os::Disk& disk, const VerifyOptions& options)
      : disk_(disk), options_(options), verifier_(options.data.samples) {}

  Result<Verification> run() {
    EDL_TRY(read_ledgers());
    verifier_.close();
    EDL_TRY(look_for_lacks());
    if (!options_.trace_path.empty()) {
      EDL_TRY(TraceCheck check, TraceCheck::make(verifier_, options_.data));
      EDL_TRY(join_trace(disk_, options_.trace_path, verifier_, check));
    }
    return verifier_.finish();
  }

 private:
  Result<void> read_ledgers() {
    EDL_TRY(owners_, ledger_owners(disk_, options_.job_dir));
    for (const model::WorkerId& id : owners_) {
      EDL_TRY(LedgerRead read, read_ledger(disk_, ledger_path(options_.job_dir, id)));
      verifier_.add(read.lines);
      // What a power cut tore was trained again, or others have it.
      if (read.end == LedgerEnd::kWhole || read.end == LedgerEnd::kTorn) continue;
      const model::Step last = read.lines.empty() ? model::Step(0) : read.lines.back().step;
      verifier_.violate(ViolationKind::kUnreadable, last.next(), std::move(read.damage));
    }
    return {};
  }

  Result<void> look_for_lacks() {
    const auto read = known_views(disk_, options_.job_dir);
    if (!read.ok()) {
      verifier_.violate(ViolationKind::kUnreadable, model::Step(0), read.error().message);
    }
    const auto views = read.ok() ? *read : std::vector<model::View>();
    EDL_TRY(const std::uint64_t finished, finished_steps(disk_, options_.job_dir));
    const std::vector<std::string> absent = absent_members(views);
    const std::uint64_t found = verifier_.history().size();
    if (owners_.empty()) {
      verifier_.lacks(text("there is no ledger in ", ledger_folder(options_.job_dir)));
    } else if (found < finished && !absent.empty()) {
      verifier_.lacks(text("the job finished ", finished, " steps, the ledgers have ", found,
                           ", and those of ", list_text(absent), " are missing"));
    } else if (found < finished) {
      verifier_.violate(
          ViolationKind::kMissingSample, model::Step(found + 1),
          text("the job finished ", finished, " steps, the ledgers end after ", found));
    } else if (!views.empty() && !anyone_here(views.back())) {
      verifier_.lacks(text("no member of the newest view, of generation ", views.back().generation,
                           ", left a ledger"));
    }
    return {};
  }

  bool is_here(const model::WorkerId& id) const {
    return std::binary_search(owners_.begin(), owners_.end(), id);
  }
  bool anyone_here(const model::View& view) const {
    return std::any_of(view.members.begin(), view.members.end(),
                       [&](const model::Member& member) { return is_here(member.id); });
  }
  std::vector<std::string> absent_members(const std::vector<model::View>& views) const {
    std::set<std::string> absent;
    for (const model::View& view : views) {
      for (const model::Member& member : view.members) {
        if (!is_here(member.id)) absent.insert(member.id);
      }
    }
    return {absent.begin(), absent.end()};
  }

  os::Disk& disk_;
  const VerifyOptions& options_;
  Verifier verifier_;
  std::vector<model::WorkerId> owners_;
};

}  // namespace

std::string ledger_path(const std::string& job_dir, const model::WorkerId& id) {
  return text(ledger_folder(job_dir), "/", id, ".ledger");
}
std::string views_path(const std::string& job_dir, const model::WorkerId& id) {
  return text(ledger_folder(job_dir), "/", id, ".views");
}

Result<std::vector<model::WorkerId>> ledger_owners(os::Disk& disk, const std::string& job_dir) {
  return owners(disk, job_dir, ".ledger");
}

Result<std::vector<model::View>> known_views(os::Disk& disk, const std::string& job_dir) {
  EDL_TRY(const auto ids, owners(disk, job_dir, ".views"));
  std::map<model::Generation, model::View> by_generation;
  for (const std::string& id : ids) {
    EDL_TRY(auto views, read_views(disk, views_path(job_dir, id)));
    for (model::View& view : views) by_generation.try_emplace(view.generation, std::move(view));
  }
  std::vector<model::View> out;
  for (auto& [generation, view] : by_generation) out.push_back(std::move(view));
  return out;
}

Result<Verification> verify_job(os::Disk& disk, const VerifyOptions& options) {
  return JobVerifier(disk, options).run();
}

}  // namespace edl::data
