// How a leader replaces a view: all members promise, those behind take the last record, and only
// then the new view is published.
#include <algorithm>

#include "edl/membership/core.h"
#include "edl/model/assignment.h"

namespace edl::membership {
namespace {

constexpr Duration kTellAgain = 200ms;

std::string count_text(std::size_t count, const char* what) {
  return text(count, " ", what, count == 1 ? "" : "s");
}

// Members do not wait longer than this for one that joins, beside a part of a step.
constexpr Duration kJoinersMax = 200ms;
// Steps during which the others wait for a good moment to let somebody in.
constexpr std::uint64_t kStepsToMeet = 3;

}  // namespace

void Core::begin(bool forced) {
  // Promises for what this leader has begun before, and given up, must not count.
  const model::Generation before = std::exchange(change_, {}).generation;
  change_.generation = std::max(view_->generation, before).next();
  change_.since = now_;
  if (forced) return prepare();
  change_.phase = Phase::kAnnouncing;
  change_.stop_after = here_.step.next();
  change_.uneven = uneven_;
  const Ids stay = staying(alive_members());
  model::View next = plan(composed(stay, ready_joiners(room(stay))));
  explain(next);
  actions_.emplace_back(
      Announce{ballot_, change_.generation, next.cause, next.who, std::move(next.reason)});
}

void Core::on_announced(bool done) {
  if (!leading_ || change_.phase != Phase::kAnnouncing) return;
  if (!done) {
    change_ = {};
    return;
  }
  change_.meets_until = model::Step(here_.step.value() + kStepsToMeet);
  prepare_in_time();
}

// Who joins may have the last step while the others compute the next one. Stopped then, nobody
// waits for its record, and what they have computed counts. Late in a step they compute parts that
// the newcomer would have to compute from their beginning: then the next step is the better one.
void Core::prepare_in_time() {
  if (!is_planned()) {
    change_ = {};  // who was to join is lost
    return;
  }
  const Ids stay = staying(alive_members());
  const Ids joiners = ready_joiners(room(stay));
  const bool only_joins = stay.size() == view_->members.size() && !uneven_ && !joiners.empty();
  if (!only_joins || !is_training()) return prepare();
  const auto is_here = [&](const model::WorkerId& id) {
    const Candidate& candidate = candidates_.at(id);
    return candidate.here.step == here_.step || candidate.keeps_behind();
  };
  const bool is_early = step_ == Duration() || now_ < step_began_ + step_ / 2;
  if (!busy_ && is_early && std::all_of(joiners.begin(), joiners.end(), is_here)) {
    change_.stop_after = {};
    return prepare();
  }
  if (here_.step < *change_.meets_until) return;
  change_.stop_after = here_.step.next();
  prepare();
}

void Core::prepare() {
  if (is_forced()) change_.stop_after = {};
  change_.phase = Phase::kPreparing;
  change_.since = now_;
  for (const model::WorkerId& id : alive_members()) {
    change_.asked[id];
    if (id != self_) ask(id);
  }
  ask(self_);
}

void Core::ask(const model::WorkerId& id) {
  const auto told = change_.told.find(id);
  if (told != change_.told.end() && now_ < told->second + kTellAgain) return;
  change_.told[id] = now_;
  send(id, {.kind = Kind::kPrepare,
            .ballot = ballot_,
            .generation = change_.generation,
            .step = change_.stop_after,
            .ids = ready_joiners(rules_.max)});
}

void Core::on_promise(const model::WorkerId& from, const Message& message) {
  if (!leading_ || message.ballot != ballot_ || message.generation != change_.generation) return;
  const auto asked = change_.asked.find(from);
  if (asked == change_.asked.end()) return;
  deaf_.erase(from);
  balance_.tell(from, message.speed, now_);
  asked->second = {true, message.here, {message.ids.begin(), message.ids.end()}};
  if (const auto cause = model::parse_cause(message.text); cause.ok()) leavers_[from] = *cause;
  lead();
}

void Core::settle_on(const Ids& kept) {
  change_.kept = kept;
  change_.last = {};
  for (const model::WorkerId& id : kept) {
    change_.last = std::max(change_.last, change_.asked[id].here.step);
  }
  const bool ends = wanted_.stop || rules_.is_finished(here_);
  if (!ends) choose_joiners(kept, room(staying(kept)));
  change_.phase = Phase::kHandingOver;
  change_.since = now_;
  change_.told.clear();
  hand_over();
}

// Links may work in one direction only: a joiner that reaches all is let in only if all reach it.
void Core::choose_joiners(const Ids& kept, std::size_t room) {
  for (const model::WorkerId& id : ready_joiners(rules_.max)) {
    if (change_.joiners.size() == room) return;
    const bool is_missed = std::any_of(kept.begin(), kept.end(), [&](const model::WorkerId& one) {
      return change_.asked[one].unreachable.contains(id);
    });
    if (is_missed) {
      refusals_.refuse(id, now_);
      continue;
    }
    change_.joiners.insert(id);
    change_.asked[id].here = candidates_[id].here;
  }
}

// Whether this worker has confirmed that it holds the last step; asks it to get it.
bool Core::has_step(const model::WorkerId& id) {
  const ViewChange::Asked& asked = change_.asked[id];
  if (asked.promised && asked.here.step == change_.last) return true;
  const auto holds = [&](const model::WorkerId& one) {
    return change_.asked[one].here.step == change_.last;
  };
  const auto holder = std::find_if(change_.kept.begin(), change_.kept.end(), holds);
  const auto told = change_.told.find(id);
  if (told != change_.told.end() && now_ < told->second + kTellAgain) return false;
  change_.told[id] = now_;
  send(id, {.kind = Kind::kHandOver,
            .ballot = ballot_,
            .generation = change_.generation,
            .step = change_.last,
            .who = *holder,
            .ids = {change_.joiners.begin(), change_.joiners.end()}});
  return false;
}

void Core::hand_over() {
  const auto is_lost_now = [&](const model::WorkerId& id) {
    const std::set<model::WorkerId>& missed = change_.asked[id].unreachable;
    return is_exited(id) || !reaches(id) ||
           std::any_of(change_.kept.begin(), change_.kept.end(),
                       [&](const model::WorkerId& other) { return missed.contains(other); });
  };
  // Who was told to take a record may have it by now, whatever it promised: all are asked anew.
  if (std::any_of(change_.kept.begin(), change_.kept.end(), is_lost_now)) return begin(true);
  bool all = true;
  for (const model::WorkerId& id : change_.kept) {
    // The leader needs it even when it leaves: it says where the next view begins.
    const bool needs_it = id == self_ || !leavers_.contains(id);
    if (needs_it && !has_step(id)) all = false;
  }
  if (change_.phase != Phase::kHandingOver) return;
  if (!joiners_are_done() || !all) return;
  conclude();
}

// A joiner that takes too long is left for the next view.
bool Core::joiners_are_done() {
  bool done = true;
  const Ids joiners(change_.joiners.begin(), change_.joiners.end());
  for (const model::WorkerId& id : joiners) {
    const ViewChange::Asked& asked = change_.asked[id];
    const auto behind = change_.last.value() - std::min(change_.last, asked.here.step).value();
    const bool is_late =
        now_ >= change_.since + kJoinersMax + static_cast<Duration::rep>(1 + behind) * silence_ / 8;
    bool is_ready = !is_exited(id) && reaches(id) && has_step(id);
    for (const model::WorkerId& other : asked.unreachable) {
      const bool matters = change_.joiners.contains(other) ||
                           std::count(change_.kept.begin(), change_.kept.end(), other) > 0;
      if (matters) is_ready = false;
    }
    if (is_ready) continue;
    if (is_exited(id) || !reaches(id) || is_late) {
      change_.joiners.erase(id);
      change_.asked.erase(id);
      if (const auto late = candidates_.find(id); late != candidates_.end()) late->second = {};
    } else {
      done = false;
    }
  }
  return done;
}

void Core::conclude() {
  EDL_CHECK(here_.step == change_.last, "the leader does not hold the last step");
  Ids members = composed(staying(change_.kept), {change_.joiners.begin(), change_.joiners.end()});
  const std::optional<HaltKind> halt = halt_of(members);
  const bool is_first = !view_;
  if (halt == HaltKind::kWaiting && (is_first || !is_member())) {
    change_ = {};  // founders that did not answer; gather anew
    return;
  }
  // Who only leaves still belongs to a view in which nobody trains any more.
  if (halt && halt != HaltKind::kWaiting) members = change_.kept;
  publish(members, halt);
}

// Those who stay and those who come. Whose successor has come goes.
Ids Core::composed(Ids stay, const Ids& joiners) const {
  stay.insert(stay.end(), joiners.begin(), joiners.end());
  if (stay.size() > rules_.fit(wanted_.workers)) std::erase(stay, replaced_);
  return stay;
}

std::optional<HaltKind> Core::halt_of(const Ids& members) const {
  if (wanted_.stop) return HaltKind::kStopped;
  if (rules_.is_finished(here_)) return HaltKind::kFinished;
  if (members.empty()) return HaltKind::kAbandoned;
  const std::size_t least = view_ ? rules_.min : rules_.fit(wanted_.workers);
  if (members.size() < least) return HaltKind::kWaiting;
  return std::nullopt;
}

void Core::publish(const Ids& members, std::optional<HaltKind> halt) {
  change_.phase = Phase::kPublishing;
  change_.since = now_;
  change_.next = plan(members);
  explain(*change_.next);
  if (halt) explain_halt(*change_.next, *halt);
  actions_.emplace_back(Publish{ballot_, view_revision_, *change_.next});
}

void Core::explain_halt(model::View& next, HaltKind kind) const {
  next.halt = name(kind);
  switch (kind) {
    case HaltKind::kFinished:
      next.reason = text("trained all ", here_.step, " steps");
      break;
    case HaltKind::kStopped:
      next.reason = text("asked to stop by ", wanted_.by, ": ", wanted_.reason);
      break;
    case HaltKind::kAbandoned:
      next.reason = "all members leave";
      break;
    case HaltKind::kWaiting:
      next.reason = text(next.reason, "; ", next.members.size(), " of at least ", rules_.min,
                         " workers are left, waiting for more");
      break;
  }
}

void Core::on_published(bool done, model::Revision revision) {
  if (!leading_ || change_.phase != Phase::kPublishing) return;
  const model::View next = *std::exchange(change_, {}).next;
  must_change_ = !done;
  if (!done) {
    leading_ = false;  // until the store says that we still do
    actions_.emplace_back(ReadView{ballot_});
    return;
  }
  wanted_changed_ = false;
  founding_since_.reset();
  std::set<model::WorkerId> told;
  for (const model::Member& member : next.members) told.insert(member.id);
  if (view_) {
    for (const model::Member& member : view_->members) told.insert(member.id);
  }
  told.erase(self_);
  for (const model::WorkerId& id : told) {
    if (reaches(id)) send(id, {.kind = Kind::kView, .ballot = ballot_, .view = next});
    leavers_.erase(id);
  }
  view_revision_ = revision;
  learn(next);
  lead();
}

model::View Core::plan(const Ids& members) const {
  model::View next;
  next.generation = change_.generation;
  next.first_step = here_.step.next();
  next.epoch = here_.epoch;
  next.position = here_.position;
  const std::optional<Terms> before = terms_before();
  const auto chosen = chosen_batch_ || !before ? chosen_batch_ : before->batch;
  next.batch = rules_.batch_at(here_, members.size(), chosen);
  const double factor = rules_.lr_factor(next.batch);
  const batch::Rate rate = before ? batch::next_rate(before->rate, factor, next.first_step)
                                  : batch::Rate{.factor = factor};
  next.lr_factor = rate.factor;
  next.ramp = rate.ramp;
  std::vector<model::Carrier> carriers;
  const std::vector<double> speeds = balance_.speeds(members, view_, now_);
  for (const model::WorkerId& id : members) {
    const auto rank = view_ ? view_->rank_of(id) : std::nullopt;
    model::Member member{.id = id, .address = {}, .host = {}, .logical = {}};
    if (rank) member = view_->members[rank->value()];  // its lease may have run out
    if (const auto known = registered_.find(id); known != registered_.end()) {
      member.address = known->second.address;
      member.host = known->second.host;
    }
    carriers.push_back({speeds[carriers.size()], member.logical});
    next.members.push_back(std::move(member));
  }
  model::Assignment assignment = model::assign(rules_.logical_workers, carriers);
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    next.members[rank].logical = std::move(assignment.logical[rank]);
  }
  return next;
}

// Nothing when training begins with step 1.
std::optional<Terms> Core::terms_before() const {
  if (terms_ || !view_ || from_disk_) return terms_;
  return Terms{view_->batch.global, {view_->lr_factor, view_->ramp}};
}

// Who is in the next view and not in the present one, and the other way round.
Core::Difference Core::difference(const model::View& next) const {
  Difference out;
  for (const model::Member& member : next.members) {
    if (!view_ || !view_->rank_of(member.id)) out.came.push_back(member.id);
  }
  if (!view_) return out;
  for (const model::Member& member : view_->members) {
    if (next.rank_of(member.id)) continue;
    // One that we reach may still have been dropped for a link with another one.
    const bool is_kept = std::count(change_.kept.begin(), change_.kept.end(), member.id) > 0;
    const bool could_stay = change_.kept.empty() ? reaches(member.id) : is_kept;
    const bool goes = leavers_.contains(member.id) || (!is_exited(member.id) && could_stay);
    (goes ? out.left : out.died).push_back(member.id);
  }
  return out;
}

// Cause, who and reason of the next view.
void Core::explain(model::View& next) const {
  const auto [came, died, left] = difference(next);
  const auto set = [&](model::Cause cause, const Ids& who, const std::string& reason) {
    next.cause = cause;
    next.who = who.empty() ? self_ : who.front();
    next.reason = reason;
  };
  if (!view_)
    return set(
        model::Cause::kStart, {},
        text(count_text(came.size(), "worker"), came.size() == 1 ? " is" : " are", " ready"));
  if (!is_member()) {
    return set(model::Cause::kResume, {},
               text("all members were lost; ", count_text(came.size(), "worker"),
                    " went on from step ", here_.step));
  }
  if (!died.empty()) {
    return set(model::Cause::kDeath, died,
               text(list_text(died), is_exited(died.front()) ? " ended" : " could not be reached"));
  }
  if (!left.empty() && left.front() == replaced_) {
    return set(model::Cause::kStraggler, left,
               text(replaced_, " stayed slow; ", list_text(came), " took its place"));
  }
  if (!left.empty()) {
    const auto cause = leavers_.find(left.front());
    const bool asked = cause != leavers_.end();
    return set(asked ? cause->second : model::Cause::kScale, left,
               asked ? text(list_text(left), " left")
                     : text(count_text(wanted_.workers, "worker"),
                            wanted_.workers == 1 ? " is" : " are", " wanted by ", wanted_.by));
  }
  if (!came.empty()) {
    if (const auto one = candidates_.find(came.front());
        one != candidates_.end() && one->second.keeps_behind()) {
      return set(wanted_changed_ ? model::Cause::kScale : model::Cause::kJoin, came,
                 text(list_text(came), " joined; the others waited for the last ", one->second.lag,
                      " steps that it could not keep up with"));
    }
    return wanted_changed_ ? set(model::Cause::kScale, came,
                                 text(count_text(wanted_.workers, "worker"), " wanted by ",
                                      wanted_.by, "; ", list_text(came), " joined"))
                           : set(model::Cause::kJoin, came, text(list_text(came), " joined"));
  }
  if (change_.uneven) {
    return set(change_.uneven->cause, {change_.uneven->who}, change_.uneven->reason);
  }
  set(model::Cause::kRebalance, {},
      "the same members begin anew after a broken link or with a new leader");
}

}  // namespace edl::membership
