#include "tests/world/train_checker.h"

#include <cmath>

#include "edl/base/text.h"
#include "edl/data/verify_job.h"
#include "edl/data/views_file.h"

namespace edl::tests {

TrainChecker::TrainChecker(const ToyJob& job, const membership::Rules& rules, Hit hit)
    : job_(job), rules_(rules), hit_(std::move(hit)), replay_(job), ahead_(job) {}

void TrainChecker::violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

void TrainChecker::on_published(const model::View& view) {
  const auto known = views_.find(view.generation.value());
  if (known != views_.end()) {
    if (known->second != view) violate(text("two views of generation ", view.generation));
    return;
  }
  if (!views_.empty() && views_.rbegin()->first > view.generation.value()) {
    violate(text("view ", view.generation, " comes after view ", views_.rbegin()->first));
  }
  const std::vector<model::Member> last_members =
      views_.empty() ? std::vector<model::Member>() : views_.rbegin()->second.members;
  check_rate(view, views_.empty() ? nullptr : &views_.rbegin()->second);
  views_.emplace(view.generation.value(), view);
  hit_(text("view.", name(view.cause)));
  if (!view.halt.empty()) hit_(text("halt.", view.halt));
  check_shape(view);
  const model::Step before(view.first_step.value() - 1);
  if (view.cause == model::Cause::kResume) {  // everybody was lost: back to what is on disks
    for (const model::Member& member : last_members) {
      if (dead_.contains(member.id)) continue;
      violate(text("view ", view.generation, " begins anew, and ", member.id, " is alive"));
    }
    stable_ = std::min(stable_, before);
    told_.erase(told_.upper_bound(stable_), told_.end());
    replay_.back_to(stable_);
    resumed_ = view.generation;
  } else if (before < stable_) {
    violate(text("view ", view.generation, " begins with step ", view.first_step, ", but ", stable_,
                 " was stable"));
  }
}

void TrainChecker::check_shape(const model::View& view) {
  std::set<std::uint32_t> parts;
  std::set<std::string> ids;
  for (const model::Member& member : view.members) {
    ids.insert(member.id);
    for (const model::LogicalWorker v : member.logical) parts.insert(v.value());
  }
  const bool trains = view.halt.empty();
  const std::size_t count = view.members.size();
  if (ids.size() != count) violate(text("view ", view.generation, " names a member twice"));
  if (trains && (count < rules_.min || count > rules_.max)) {
    violate(text("view ", view.generation, " has ", count, " members"));
  }
  if (trains && parts.size() != job_.logical_workers) {
    violate(text("view ", view.generation, " has ", parts.size(), " parts"));
  }
  // What adaptive chooses lies within its bounds.
  if (trains && view.batch != rules_.batch_of(count, view.batch.global)) {
    violate(text("view ", view.generation, " has a batch of ", view.batch.global));
  }
}

// The rate follows the batch, in eight steps, and never jumps.
void TrainChecker::check_rate(const model::View& view, const model::View* before) {
  if (view.lr_factor != wanted_factor(view)) {
    violate(text("view ", view.generation, " has a learning-rate factor of ", view.lr_factor));
  }
  if (before == nullptr && view.ramp.steps != 0) violate("the first view has a ramp");
  if (before == nullptr || view.cause == model::Cause::kResume) return;
  const model::Step first = view.first_step;
  if (factor_in(view, first) != factor_in(*before, first)) {
    violate(text("the learning rate jumps at view ", view.generation));
  }
  const bool is_changed = view.lr_factor != before->lr_factor;
  if (is_changed && view.ramp.steps != 0) hit_("view.ramp");
  if (!is_changed && view.ramp != before->ramp) {
    violate(text("view ", view.generation, " has another ramp for the same batch"));
  }
}

double TrainChecker::wanted_factor(const model::View& view) const {
  const double times = static_cast<double>(view.batch.global) / static_cast<double>(job_.batch);
  switch (rules_.lr_rule) {
    case model::RateRule::kNone:
      return 1;
    case model::RateRule::kSquareRoot:
      return std::sqrt(times);
    default:
      return times;  // all batches here are small
  }
}

double TrainChecker::factor_in(const model::View& view, model::Step step) {
  const double since =
      static_cast<double>(step.value()) - static_cast<double>(view.ramp.t0.value());
  if (view.ramp.steps == 0 || since >= 8) return view.lr_factor;
  return view.ramp.from + since / 8 * (view.ramp.to - view.ramp.from);
}

double TrainChecker::warmup(const ToyReplay::Plan& plan) const {
  const double seen = static_cast<double>(plan.epoch * job_.samples + plan.from + plan.samples);
  return seen >= static_cast<double>(rules_.warmup_samples)
             ? 1
             : seen / static_cast<double>(rules_.warmup_samples);
}

void TrainChecker::advance(const model::View& view) {
  const ToyReplay::Plan plan = replay_.next(view.batch.global);
  replay_.advance(view.batch.global, factor_in(view, plan.step) * warmup(plan), view.crowd());
}

void TrainChecker::on_recorded(model::Step step) {
  hit_("train.recorded");
  if (step > stable_) violate(text("a checkpoint of step ", step, ", and stable is ", stable_));
}

void TrainChecker::on_applied(const std::string& id, model::Step step, const Toy::Sign& sign) {
  Worker& worker = workers_[id];
  worker.last = step;
  worker.signs[step] = sign;
  if (rules_.policy != model::BatchPolicy::kFixed) return;
  while (ahead_.here().step < step) {
    ahead_.advance(job_.batch, warmup(ahead_.next(job_.batch)));  // the batch never changes
  }
  if (ahead_.sign_after(step).digest != sign.digest) {
    violate(text(id, " has another state after step ", step, " than the reference"));
  }
}

void TrainChecker::on_told(const std::string& id, const train::StepReport& told) {
  const model::Step step = told.step;
  const model::Generation generation = told.generation;
  const auto view = views_.find(generation.value());
  if (view == views_.end()) {
    return violate(text(id, " tells of view ", generation, ", which is not published"));
  }
  // Somebody may not know yet that all was lost.
  if (generation < resumed_ && step >= views_.at(resumed_.value()).first_step) return;
  const auto known = told_.find(step);
  if (known != told_.end() && known->second != generation) {
    violate(text("step ", step, " of view ", known->second, " was computed again in ", generation));
  }
  if (step <= stable_) return;
  fill_until(step, generation);
  for (const model::Member& member : view->second.members) {
    if (dead_.contains(member.id) || !views_.rbegin()->second.rank_of(member.id)) continue;
    if (workers_[member.id].last < step) {
      violate(text(id, " tells of step ", step, " of view ", generation, ", which ", member.id,
                   " does not have"));
    }
  }
  follow(id, told, view->second);
  told_.emplace(step, generation);
  stable_ = step;
}

const model::View& TrainChecker::view_of(model::Step step, model::Generation told) const {
  auto at = views_.find(told.value());
  while (at->second.first_step > step) --at;
  return at->second;
}

// Whoever could have told of a step may have died before.
void TrainChecker::fill_until(model::Step step, model::Generation told) {
  while (replay_.here().step.next() < step) {
    hit_("train.never_told");
    advance(view_of(replay_.here().step.next(), told));
  }
}

// The step continues the last one, with the batch of its view, and whoever has it has it so.
void TrainChecker::follow(const std::string& id, const train::StepReport& told,
                          const model::View& view) {
  const ToyReplay::Plan plan = replay_.next(view.batch.global);
  if (told.epoch.value() != plan.epoch || told.position != plan.from ||
      told.samples != plan.samples) {
    violate(text(id, " tells of step ", plan.step, " at epoch ", told.epoch, ", position ",
                 told.position, ", ", told.samples, " samples, instead of ", plan.epoch, ", ",
                 plan.from, ", ", plan.samples));
  }
  advance(view);
  for (const model::Member& member : view.members) {
    const auto& signs = workers_[member.id].signs;
    const auto mine = signs.find(plan.step);
    if (mine == signs.end() || mine->second == replay_.sign_after(plan.step)) continue;
    if (dead_.contains(member.id) || !views_.rbegin()->second.rank_of(member.id)) continue;
    violate(text(member.id, " has another state after step ", plan.step, " of view ",
                 view.generation, " than the reference"));
  }
}

void TrainChecker::check_ledgers(const std::vector<os::Disk*>& disks, const std::string& job_dir) {
  const bool is_stream = job_.catalog != nullptr;
  data::Verifier verifier(is_stream ? model::SampleCount::unknown() : job_.samples);
  for (os::Disk* disk : disks) {
    const auto owners = data::ledger_owners(*disk, job_dir);
    if (!owners.ok()) return violate(owners.error().message);
    for (const model::WorkerId& id : *owners) {
      const auto read = data::read_ledger(*disk, data::ledger_path(job_dir, id));
      if (!read.ok()) return violate(read.error().message);
      if (read->end != data::LedgerEnd::kWhole) hit_("ledger.torn");
      verifier.add(read->lines);
    }
    const auto views = data::known_views(*disk, job_dir);
    if (!views.ok()) return violate(views.error().message);
    for (const model::View& view : *views) {
      const auto known = views_.find(view.generation.value());
      if (known == views_.end() || known->second != view) {
        violate(text("somebody keeps a view ", view.generation, " that was not published"));
      }
    }
  }
  verifier.close();
  const data::Verification done = verifier.finish();
  const std::string what = done.violations.empty() ? done.reason : done.violations[0].detail;
  if (!done.proven()) violate(text("the ledgers prove nothing: ", what));
  if (is_stream && done.samples != job_.samples) {
    violate(text("the ledgers have ", done.samples, " of ", job_.samples, " records"));
  }
  if (!is_stream && done.steps < job_.steps)
    violate(text("the ledgers have ", done.steps, " steps"));
  for (const model::LedgerRecord& record : verifier.history()) {
    const auto told = told_.find(record.step);
    if (told != told_.end() && told->second != record.generation) {
      violate(text("step ", record.step, " is of generation ", record.generation,
                   " in the ledgers and was told of ", told->second));
    }
  }
}

}  // namespace edl::tests
