// What every member owes the others: promises, states, and to leave when a link breaks.
#include <algorithm>

#include "edl/membership/core.h"

namespace edl::membership {
namespace {

constexpr Duration kAskAgain = 200ms;
constexpr Duration kAskSoon = 10ms;
constexpr Duration kBeatEvery = 500ms;
constexpr Duration kJoinPauseFirst = 500ms;
constexpr Duration kJoinPauseMost = 30s;

}  // namespace

void Core::send(const model::WorkerId& to, Message message) {
  if (to == self_) return on_message(self_, message);
  actions_.emplace_back(Send{to, std::move(message)});
}

// A member follows the highest ballot that it has heard of, in direct messages too.
void Core::on_prepare(const model::WorkerId& from, const Message& message) {
  if (message.ballot < promised_ballot_ || message.generation <= entered_) return;
  if (!is_member()) return;  // who joins is asked by nobody until a view includes it
  owe({from, message.ballot, message.generation, message.step, message.ids});
  answer();
}

// A record that an earlier round asked for may still arrive. It must not be applied after this
// round was told what we have.
void Core::owe(Owed owed) {
  // What was promised to an earlier leader for generations that it never published is void: this
  // one has read the last view that there is.
  if (owed.ballot > promised_ballot_) promised_ = entered_;
  promised_ballot_ = owed.ballot;
  const bool is_same =
      owed_ && owed_->ballot == owed.ballot && owed_->generation == owed.generation;
  if (!is_same && std::exchange(taking_, false)) actions_.emplace_back(DropRecord{});
  owed_ = std::move(owed);
}

void Core::answer() {
  if (!owed_ || busy_) return;
  const bool may_stop =
      !is_training() || owed_->stop_after == model::Step() || here_.step >= owed_->stop_after;
  if (!may_stop) return;
  leave_collective("a new view is being made");
  actions_.emplace_back(Promised{});
  promised_ = std::max(promised_, owed_->generation);
  Message promise{.kind = Kind::kPromise,
                  .ballot = owed_->ballot,
                  .generation = owed_->generation,
                  .here = here_,
                  .ids = unreachable(owed_->joiners),
                  .speed = speed_};
  if (leaving_) promise.text = name(*leaving_);
  send(owed_->leader, std::move(promise));
}

void Core::on_hand_over(const model::WorkerId& from, const Message& message) {
  if (message.ballot < promised_ballot_ || message.generation <= entered_ || !has_state_) return;
  owe({from, message.ballot, message.generation, {}, message.ids});
  if (here_.step < message.step) {
    leave_collective("a new view is being made");
    taking_ = true;
    actions_.emplace_back(TakeRecord{message.who, message.step});
    return;
  }
  answer();
}

void Core::on_admit(const model::WorkerId& from, const Message& message) {
  if (from != leader_id_ || is_member() || loading_ || (has_state_ && !from_disk_)) return;
  loading_ = true;
  has_state_ = false;
  from_disk_ = !view_ || is_lost();  // founders share what one of them found there
  actions_.emplace_back(GetState{message.ids, message.step});
}

void Core::on_state(const model::Position& here) {
  busy_ = false;
  if (is_member() || handed_over_) return;
  here_ = here;
  agreement_ = {};  // of another state, perhaps
  has_state_ = true;
  loading_ = false;
  ask_at_ = now_;
  answer();
  look();
}

void Core::on_terms(const Terms& terms) {
  if (!is_member()) terms_ = terms;
}

void Core::on_no_state(const std::string& reason) {
  if (is_member()) return;
  // A view that counts on what it has promised may be published already.
  orphaned_ = owed_ && has_state_;
  if (orphaned_) return;
  become_spare(reason);
  look();
}

void Core::on_completed(const model::Position& here) {
  busy_ = false;
  taking_ = false;
  if (!has_state_) return;  // it was dropped meanwhile
  here_ = here;
  step_began_ = now_;
  if (!is_member()) handed_over_ = true;
  answer();
  lead();
}

void Core::on_leave(model::Cause cause) {
  if (!leaving_) leaving_ = cause;
  ask_at_ = now_;
  look();
}

// A view that somebody made. Those of older generations than we have promised for are only news.
void Core::learn(const model::View& view) {
  if (view_ && view.generation <= view_->generation) return;
  balance_.on_view(view, view_, now_);
  if (view_) agreement_.keep(view_->members, view);
  uneven_.reset();
  chosen_batch_.reset();
  terms_.reset();
  if (!view.rank_of(replaced_)) replaced_.clear();
  view_ = view;
  broken_.clear();
  deaf_.clear();
  for (const model::Member& member : view.members) {
    candidates_.erase(member.id);
    // Its view may be heard of before its registration, but not in the first picture of the store,
    // and not after it was heard that its lease is gone.
    if (current_ && !gone_since_.contains(member.id)) {
      registered_.try_emplace(member.id, Registered{member.address, member.host});
    }
  }
  if (view.generation < promised_) return;
  const bool fits = has_state_ && !loading_ && here_.step.next() == view.first_step;
  if (view.rank_of(self_)) {
    if (fits) return enter(view);
    leave_collective("cannot take part");
    actions_.emplace_back(
        Exit{text("cannot take part in view ", view.generation, ", which begins at step ",
                  view.first_step, ": it holds the state after ", here_.step)});
    return;
  }
  const bool is_replaced = view.cause == model::Cause::kStraggler && view.who == self_;
  if (is_member() && (leaving_ || view.cause == model::Cause::kScale || is_replaced)) {
    leave_collective("the next view is without it");
    entered_ = {};
    actions_.emplace_back(Exit{text("left: view ", view.generation, " is without it")});
  } else if (is_member() || handed_over_ || orphaned_ || from_disk_) {
    become_spare(text("view ", view.generation, " is without it: ", view.reason));
  } else if (std::exchange(owed_, std::nullopt)) {
    taking_ = false;
    actions_.emplace_back(DropRecord{});  // nobody counts on it any more; it goes on
  }
}

void Core::enter(const model::View& view) {
  entered_ = view.generation;
  promised_ = view.generation;
  step_began_ = now_;
  left_ = false;
  owed_.reset();
  taking_ = false;
  orphaned_ = false;
  handed_over_ = false;
  from_disk_ = false;
  accused_.clear();
  join_pause_ = {};
  waits_for_ = view.halt.empty() ? "" : view.reason;
  actions_.emplace_back(EnterView{view});
  for (const HaltKind kind :
       {HaltKind::kFinished, HaltKind::kStopped, HaltKind::kWaiting, HaltKind::kAbandoned}) {
    if (view.halt != name(kind)) continue;
    actions_.emplace_back(
        Halt{kind, model::Step(view.first_step.value() - 1), leading_, view.reason});
  }
  for (const model::Member& member : view.members) {
    if (member.id != self_ && !reaches(member.id)) trouble(member.id);
  }
}

// Without a state, and it asks again only after a pause: who was left out once may be so again.
void Core::become_spare(const std::string& reason) {
  if (is_member()) {
    join_pause_ = std::clamp(2 * join_pause_, kJoinPauseFirst, kJoinPauseMost);
    join_at_ = now_ + join_pause_;
  }
  leave_collective(reason);
  entered_ = {};
  busy_ = false;
  taking_ = false;
  orphaned_ = false;
  has_state_ = false;
  terms_.reset();
  from_disk_ = false;
  loading_ = false;
  handed_over_ = false;
  owed_.reset();
  accused_.clear();
  actions_.emplace_back(DropState{reason});
}

void Core::leave_collective(const std::string& reason) {
  if (left_) return;
  left_ = true;
  actions_.emplace_back(LeaveCollective{reason});
}

// The link with a member is broken, or the member is dead. We leave at once, so that nobody waits
// for us in vain, and never come back to this generation.
void Core::trouble(const model::WorkerId& with) {
  if (!is_member() || !view_ || view_->generation != entered_ || !view_->rank_of(with)) return;
  if (with == self_) return;
  if (!accused_.insert(with).second) return answer();  // it had come back, and a leader was told so
  leave_collective(text("the link with ", with, " is broken"));
  waits_for_ = text("a view without the broken link with ", with);
  if (with == leader_id_) complain();
  broken_.insert({self_, with});
  ask_at_ = now_;
  answer();
  look();
}

void Core::complain() {
  if (leading_ || leader_id_ == self_ || complained_at_ || !view_ || !view_->rank_of(leader_id_)) {
    return;
  }
  complained_at_ = now_;
  actions_.emplace_back(Complain{ballot_, leader_id_, text(self_, " does not reach it")});
}

// How fast we are and what we hold, from time to time.
void Core::beat() {
  if (is_told_ || now_ < beat_at_ || !is_training()) return;
  beat_at_ = now_ + kBeatEvery;
  is_told_ = true;
  if (leading_) return balance_.tell(self_, speed_, now_);
  if (leader_id_.empty()) return;
  send(leader_id_, {.kind = Kind::kBeat,
                    .generation = view_->generation,
                    .step = agreement_.own().step,
                    .speed = speed_,
                    .state = agreement_.own().digest});
}

// Tells the leader again and again what it should know, because any message may be lost.
void Core::ask() {
  if (!is_member()) {
    const bool founding = !view_ || is_lost();
    if (founding && has_state_ && !from_disk_) become_spare("all members are lost");
    if (founding && !has_state_ && !loading_) {
      loading_ = true;
      from_disk_ = true;
      promised_ = {};  // to a leader that is lost, of a state that is gone
      actions_.emplace_back(GetState{{}, {}});
    }
  }
  if (now_ < ask_at_ || leader_id_.empty()) return;
  ask_at_ = now_ + kAskAgain;
  news_at_ = now_ + kAskSoon;
  if (leaving_) return ask_to_leave();
  if (!is_member()) return ask_to_join();
  if (leading_ || !left_) return;
  for (const model::WorkerId& id : accused_) {
    send(leader_id_, {.kind = Kind::kAccuse, .generation = entered_, .who = id});
  }
}

// Many links come up at the same time; not each of them is worth a message.
void Core::ask_soon() { ask_at_ = std::min(ask_at_, std::max(now_, news_at_)); }

void Core::ask_to_join() {
  if (now_ < join_at_ || leader_id_ == self_) return;
  const bool is_ready = has_state_ && !loading_;
  Ids others;
  for (const auto& [id, worker] : registered_) others.push_back(id);
  send(leader_id_, {.kind = is_ready ? Kind::kReady : Kind::kJoin,
                    .here = is_ready ? here_ : model::Position(),
                    .ids = unreachable(others)});
}

void Core::ask_to_leave() {
  if (!is_member()) {
    actions_.emplace_back(Exit{"left before it was a member"});
    return;
  }
  if (!leading_) {
    return send(leader_id_, {.kind = Kind::kLeave, .text = std::string(name(*leaving_))});
  }
  if (give_lead(text(self_, " leaves"))) return;
  leavers_[self_] = *leaving_;
  lead();
}

Ids Core::unreachable(const Ids& joiners) const {
  Ids missing;
  const auto check = [&](const model::WorkerId& id) {
    if (id != self_ && !is_exited(id) && !reaches(id)) missing.push_back(id);
  };
  if (view_) {
    for (const model::Member& member : view_->members) check(member.id);
  }
  for (const model::WorkerId& id : joiners) check(id);
  return missing;
}

}  // namespace edl::membership
