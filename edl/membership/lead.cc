// What the leader sees to: who should be a member, and whether something forces a new view.
#include <algorithm>

#include "edl/membership/core.h"

namespace edl::membership {
namespace {

constexpr Duration kReplaceAgain = 5s;
constexpr Duration kFirstStepMax = 1s;  // that spares wait for

}  // namespace

void Core::lead() {
  if (!leading_ || !current_) return;
  switch (change_.phase) {
    case Phase::kIdle:
      return consider();
    case Phase::kAnnouncing:
      if (is_forced()) return prepare();
      if (change_.meets_until) prepare_in_time();
      return;
    case Phase::kPreparing:
      return weigh();
    case Phase::kHandingOver:
      return hand_over();
    case Phase::kPublishing:
      return;
  }
}

void Core::consider() {
  if (!view_ || is_lost()) return found();
  if (!is_member()) return;
  balance();
  admit();
  if (is_forced()) return begin(true);
  if (is_planned()) return begin(false);
}

// A new leader makes a view in any case: the one before may have stopped the members already.
bool Core::is_forced() const {
  if (must_change_) return true;
  const bool has_ended = view_->halt == name(HaltKind::kStopped) ||
                         view_->halt == name(HaltKind::kFinished) ||
                         view_->halt == name(HaltKind::kAbandoned);
  if (!has_ended && (wanted_.stop || rules_.is_finished(here_))) return true;
  const auto is_known = [&](const auto& link) {
    return view_->rank_of(link.first) && view_->rank_of(link.second);
  };
  if (std::any_of(broken_.begin(), broken_.end(), is_known)) return true;
  return std::any_of(view_->members.begin(), view_->members.end(),
                     [&](const model::Member& member) { return is_exited(member.id); });
}

bool Core::is_planned() const {
  if (!view_->halt.empty() && view_->halt != name(HaltKind::kWaiting)) return false;
  const Ids alive = alive_members();
  const Ids stay = staying(alive);
  if (stay.size() < alive.size() || uneven_) return true;
  const Ids ready = ready_joiners(room(stay));
  if (ready.empty()) return false;
  bool others_come = false;
  Time first = Time::max();
  for (const auto& [id, candidate] : candidates_) {
    if (candidate.admitted && !candidate.ready) others_come = true;
    if (candidate.ready) first = std::min(first, candidate.since);
  }
  return !others_come || now_ >= first + rules_.join_window;
}

// Who is slow is relieved; who stays slow gets a successor, which comes before it goes.
void Core::balance() {
  if (!is_training()) return;
  if (const auto verdict = balance_.look(*view_, silence_, now_)) uneven_ = verdict;
  const auto slow = balance_.slow_since_long(*view_, rules_.replace_after, now_);
  if (!slow) return replaced_.clear();
  if (now_ < replace_at_) return;
  replace_at_ = now_ + kReplaceAgain;
  if (*slow != self_) {
    replaced_ = *slow;
    actions_.emplace_back(Replace{ballot_, *slow, text(*slow, " stays slow")});
    return;
  }
  give_lead(text(self_, " is slow"));
}

void Core::on_batch(std::uint64_t global, const std::string& reason) {
  if (!leading_ || !is_training() || global == view_->batch.global) return;
  chosen_batch_ = global;
  uneven_ = {model::Cause::kBatch, self_, reason};
  lead();
}

// To the lowest rank that stays; false when there is none.
bool Core::give_lead(const std::string& reason) {
  for (const model::WorkerId& id : alive_members()) {
    if (id == self_ || leavers_.contains(id) || !reaches(id)) continue;
    actions_.emplace_back(TakeLead{ballot_, id, reason});
    return true;
  }
  return false;
}

// For one more than is wanted, because a member will go when it has come.
bool Core::has_successor_room(const Ids& stay) const {
  return std::count(stay.begin(), stay.end(), replaced_) > 0;
}

std::size_t Core::room(const Ids& stay) const {
  const std::size_t most = rules_.fit(wanted_.workers) + (has_successor_room(stay) ? 1 : 0);
  return most - std::min(most, stay.size());
}

// The first view, or one after all members were lost: of workers that hold the same state from
// disk.
void Core::found() {
  if (!has_state_ || loading_) return;
  if (!founding_since_) founding_since_ = now_;
  Ids ready;
  std::set<model::WorkerId> missed;  // by one of them
  for (auto& [id, candidate] : candidates_) {
    if (!candidate.ready || !reaches(id)) continue;
    if (candidate.here.step > here_.step) {
      actions_.emplace_back(TakeLead{ballot_, id, text(id, " has a newer checkpoint")});
      return;
    }
    if (candidate.here == here_) {
      const auto is_ready = [&](const model::WorkerId& other) {
        return std::binary_search(ready.begin(), ready.end(), other);
      };
      const std::set<model::WorkerId>& misses = candidate.unreachable;
      if (missed.contains(id) || std::any_of(misses.begin(), misses.end(), is_ready)) continue;
      ready.push_back(id);
      missed.insert(misses.begin(), misses.end());
    } else {
      candidate.ready = false;
      send(id, {.kind = Kind::kAdmit, .ballot = ballot_, .step = here_.step, .ids = {self_}});
    }
  }
  const std::size_t target = rules_.fit(wanted_.workers);
  const std::size_t count = std::min(ready.size() + 1, target);
  const bool may_be_fewer =
      view_ && count >= rules_.min && now_ >= *founding_since_ + rules_.founders_wait;
  const bool ends = wanted_.stop || rules_.is_finished(here_);
  if (count < target && !may_be_fewer && !ends) {
    waits_for_ = text(count, " of ", target, " workers are ready");
    return;
  }
  ready.resize(count - 1);
  change_ = {};
  change_.generation = view_ ? view_->generation.next() : model::Generation(1);
  change_.asked[self_] = {true, here_, {}};
  change_.joiners = {ready.begin(), ready.end()};
  if (ends) change_.joiners.clear();
  for (const model::WorkerId& id : change_.joiners) change_.asked[id].here = here_;
  change_.kept = {self_};
  change_.last = here_.step;
  change_.phase = Phase::kHandingOver;
  change_.since = now_;
  hand_over();
}

// Lets as many spares get the state as there is room for. What they do first takes processors and
// memory from the first step of a view, for which all wait.
void Core::admit() {
  const bool is_first_step = is_training() && here_.step < view_->first_step;
  if (is_first_step && now_ < step_began_ + kFirstStepMax) return;
  const Ids stay = staying(alive_members());
  std::size_t coming = 0;
  for (const auto& [id, candidate] : candidates_) coming += candidate.admitted ? 1 : 0;
  const std::size_t most = room(stay);
  for (auto& [id, candidate] : candidates_) {
    if (coming >= most) return;
    if (candidate.admitted || !reaches(id)) continue;
    candidate.admitted = true;
    ++coming;
    Ids givers;
    for (const model::WorkerId& member : stay) {
      if (member == self_ || reaches(member)) givers.push_back(member);
    }
    send(id,
         {.kind = Kind::kAdmit, .ballot = ballot_, .step = here_.step, .ids = std::move(givers)});
  }
}

void Core::on_join(const model::WorkerId& from, const Message& message) {
  if (leader_id_ != self_ || (view_ && !is_lost() && view_->rank_of(from))) return;
  Candidate& candidate = candidates_[from];
  if (message.kind == Kind::kReady) {
    candidate.is_at(message.here, here_.step, now_);
  } else {
    candidate = {};  // one that asks anew has lost what it had, or the answer was lost
  }
  candidate.unreachable = {message.ids.begin(), message.ids.end()};
  lead();
}

void Core::on_accuse(const model::WorkerId& from, const Message& message) {
  if (!leading_ || !view_) return;
  if (message.generation == view_->generation) {
    broken_.insert({from, message.who});
    return lead();
  }
  if (message.generation < view_->generation && change_.phase == Phase::kIdle) {
    send(from, {.kind = Kind::kView, .ballot = ballot_, .view = view_});
  }
}

// A link may work in one direction only: who is heard and says that it does not hear us is not
// reached.
bool Core::reaches(const model::WorkerId& id) const {
  return id == self_ || (up_.contains(id) && !silent_.contains(id) && !deaf_.contains(id));
}

Ids Core::alive_members() const {
  Ids ids;
  for (const model::Member& member : view_->members) {
    if (!is_exited(member.id)) ids.push_back(member.id);
  }
  return ids;
}

// Without those that leave; when fewer are wanted, the highest ranks go, but not the leader.
Ids Core::staying(const Ids& members) const {
  Ids stay;
  for (const model::WorkerId& id : members) {
    if (!leavers_.contains(id)) stay.push_back(id);
  }
  const std::size_t target = rules_.fit(wanted_.workers);
  for (std::size_t i = stay.size(); i-- > 0 && stay.size() > target;) {
    if (stay[i] != self_) stay.erase(stay.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return stay;
}

// Those that are so near that the last record alone brings them here, and those that would never
// be.
Ids Core::ready_joiners(std::size_t room) const {
  Ids ids;
  for (const auto& [id, candidate] : candidates_) {
    if (ids.size() == room) break;
    const bool can_come = candidate.is_near(here_.step) || candidate.keeps_behind();
    if (!candidate.ready || !can_come || !reaches(id) || is_exited(id)) continue;
    if (refusals_.is_refused(id, now_)) continue;
    // All who are to train together must reach each other before anyone is stopped for it.
    const auto misses = [&](const model::WorkerId& other) {
      const auto known = candidates_.find(other);
      return candidate.unreachable.contains(other) ||
             (known != candidates_.end() && known->second.unreachable.contains(id));
    };
    if (view_ && std::any_of(view_->members.begin(), view_->members.end(),
                             [&](const model::Member& member) { return misses(member.id); })) {
      continue;
    }
    if (std::none_of(ids.begin(), ids.end(), misses)) ids.push_back(id);
  }
  return ids;
}

}  // namespace edl::membership
