#include "edl/membership/core.h"

#include <algorithm>
#include <array>

namespace edl::membership {

void Core::set_time(Time now, Duration silence, Duration step) {
  now_ = now;
  silence_ = silence;
  step_ = step;
}

void Core::on_wanted(const Wanted& wanted) {
  if (wanted.workers != wanted_.workers) wanted_changed_ = true;
  wanted_ = wanted;
  look();
}

void Core::on_leader(model::Ballot ballot, const model::WorkerId& id) {
  if (ballot <= ballot_) return;
  ballot_ = ballot;
  leader_id_ = id;
  complaints_.clear();
  complained_at_.reset();
  campaign_at_.reset();
  leading_ = false;
  change_ = {};
  candidates_.clear();
  leavers_.clear();
  broken_.clear();
  deaf_.clear();
  uneven_.reset();
  chosen_batch_.reset();
  replaced_.clear();
  is_told_ = speed_ == 0;
  ask_at_ = now_;
  if (id == self_) actions_.emplace_back(ReadView{ballot});
  if (is_member() && !reaches(id) && id != self_) complain();
  look();
}

void Core::on_elected(model::Ballot ballot, std::optional<model::View> view,
                      model::Revision revision) {
  if (ballot != ballot_ || leader_id_ != self_) return;
  if (view) on_view(*view, revision);
  leading_ = true;
  must_change_ = true;
  founding_since_.reset();
  for (const model::WorkerId& id : accused_) broken_.insert({self_, id});
  lead();
}

void Core::on_view(const model::View& view, model::Revision revision) {
  if (view_ && view.generation < view_->generation) return;
  view_revision_ = revision;
  learn(view);
  look();
}

bool Core::is_undisturbed() const {
  if (!leading_ || !is_training() || owed_ || leaving_ || must_change_) return false;
  if (view_->members.size() >= wanted_.workers) return true;
  return std::ranges::all_of(
      registered_, [&](const auto& entry) { return entry.first == self_ || entry.second.exited; });
}

void Core::step_down() {
  leading_ = false;
  change_ = {};
  actions_.emplace_back(ReadView{ballot_});
}

void Core::on_registered(const model::WorkerId& id, const Registered& worker) {
  registered_[id] = worker;
  gone_since_.erase(id);
  if (worker.exited) {
    up_.erase(id);
    candidates_.erase(id);
    trouble(id);
  }
  look();
}

void Core::on_unregistered(const model::WorkerId& id) {
  registered_.erase(id);
  gone_since_.emplace(id, now_);
  look();
}

// Members of the view that the store does not know have ended while nobody was there to see it.
void Core::on_current() {
  current_ = true;
  if (view_) {
    for (const model::Member& member : view_->members) {
      if (!registered_.contains(member.id)) gone_since_.emplace(member.id, now_);
    }
  }
  look();
}

void Core::on_complaint(model::Ballot ballot, const model::WorkerId& by) {
  if (ballot != ballot_) return;
  const bool is_new = complaints_.insert(by).second;
  if (is_new && leader_id_ == self_ && by != self_) {
    actions_.emplace_back(Complain{ballot_, self_, "the accused answers"});
    // It may be late: of one that was left out since then, and that we reach again.
    if (view_ && view_->rank_of(by)) deaf_.insert(by);
    broken_.insert({by, self_});
  }
  look();
}

void Core::on_message(const model::WorkerId& from, const Message& message) {
  switch (message.kind) {
    case Kind::kPrepare:
      return on_prepare(from, message);
    case Kind::kPromise:
      return on_promise(from, message);
    case Kind::kHandOver:
      return on_hand_over(from, message);
    case Kind::kView:
      // Somebody else makes views, whether the store has told us so or not.
      if (message.ballot > ballot_ && leading_) step_down();
      learn(*message.view);
      return look();
    case Kind::kAccuse:
      return on_accuse(from, message);
    case Kind::kJoin:
    case Kind::kReady:
      return on_join(from, message);
    case Kind::kAdmit:
      return on_admit(from, message);
    case Kind::kLeave:
      if (!leading_) return;
      if (const auto cause = model::parse_cause(message.text); cause.ok()) leavers_[from] = *cause;
      return lead();
    case Kind::kBeat:
      return heed_beat(from, message);
  }
}

void Core::on_link(const model::WorkerId& id, bool up) {
  if (!up) {
    up_.erase(id);
    silent_.erase(id);
    candidates_.erase(id);
    return trouble(id);
  }
  if (is_exited(id)) return;
  up_.insert(id);
  silent_.erase(id);
  change_.told.erase(id);  // what was said may be lost with the link before
  if (id == leader_id_) ask_at_ = now_;
  if (!is_member()) ask_soon();  // whom a joiner reaches matters, too
  answer();
  look();
}

void Core::on_silent(const model::WorkerId& id) {
  if (!up_.contains(id) || !silent_.insert(id).second) return;
  trouble(id);
}

void Core::on_worked(double samples_per_second, const std::optional<StateMark>& mark) {
  if (samples_per_second > 0) speed_ = samples_per_second;
  is_told_ = false;
  if (!mark) return;
  for (const std::string& difference : agreement_.tell_own(self_, *mark)) {
    if (leading_) actions_.emplace_back(Warn{difference});
  }
}

// States are compared within a view only: after a loss of all, steps are trained once more, and
// perhaps in another way.
void Core::heed_beat(const model::WorkerId& from, const Message& beat) {
  balance_.tell(from, beat.speed, now_);
  if (!leading_ || beat.state == 0 || !view_ || beat.generation != view_->generation) return;
  const auto difference = agreement_.tell(from, {beat.step, beat.state});
  if (difference) actions_.emplace_back(Warn{*difference});
}

void Core::look() {
  if (!current_) return;
  beat();
  ask();
  campaign();
  lead();
}

namespace {

// Times count only as far as they differ from now, and no wait is longer than this.
constexpr Duration kWaitMost = 60s;

std::string until(Time deadline, Time now) {
  return text(std::clamp<Duration>(deadline - now, Duration::zero(), kWaitMost) / 1ms);
}
std::string since(Time start, Time now) {
  return text(std::clamp<Duration>(now - start, Duration::zero(), kWaitMost) / 1ms);
}
void list(std::string& out, const char* what, const auto& ids) {
  out += what;
  for (const auto& id : ids) out += id + ",";
}

}  // namespace

std::string_view Core::change_phase() const {
  constexpr std::array<std::string_view, 5> kNames{"idle", "announcing", "preparing",
                                                   "handing_over", "publishing"};
  return kNames[static_cast<std::size_t>(change_.phase)];
}

std::string Core::state_text() const {
  std::string out = text(self_, " b", ballot_, leader_id_, " e", entered_, " p", promised_, ".",
                         promised_ballot_, " at", here_.step, ".", here_.epoch, ".", here_.position,
                         " v", view_ ? view_->generation.value() : 0, "r", view_revision_, " w",
                         wanted_.workers, " ", wanted_.stop, current_, wanted_changed_, left_,
                         busy_, has_state_, taking_, orphaned_, handed_over_, from_disk_, loading_,
                         leading_, must_change_, leaving_ ? name(*leaving_) : "");
  list(out, " up:", up_);
  list(out, " silent:", silent_);
  list(out, " accused:", accused_);
  list(out, " complaints:", complaints_);
  list(out, " deaf:", deaf_);
  for (const auto& [id, refusal] : refusals_.all()) {
    out += text(" refused", id, until(refusal.until, now_), "/", refusal.pause / 1ms);
  }
  if (owed_) {
    out += text(" owes ", owed_->leader, owed_->ballot, ".", owed_->generation, ".",
                owed_->stop_after);
    list(out, "+", owed_->joiners);
  }
  out += balance_.state_text(now_);
  if (uneven_) out += text(" move", uneven_->who);
  if (chosen_batch_) out += text(" batch", *chosen_batch_);
  if (terms_) out += text(" terms", terms_->batch, "/", terms_->rate.factor);
  if (!replaced_.empty()) out += text(" replace", replaced_, until(replace_at_, now_));
  if (campaign_at_) out += text(" campaign", until(*campaign_at_, now_));
  if (complained_at_) out += text(" complained", since(*complained_at_, now_));
  if (founding_since_) out += text(" founding", since(*founding_since_, now_));
  out += text(" ask", until(ask_at_, now_), "/", until(news_at_, now_), " join",
              until(join_at_, now_), "/", join_pause_ / 1ms);
  for (const auto& [id, worker] : registered_) out += text(" ", id, worker.exited ? "dead" : "");
  for (const auto& [id, time] : gone_since_) out += text(" gone", id, since(time, now_));
  for (const auto& [a, b] : broken_) out += text(" x", a, b);
  for (const auto& [id, cause] : leavers_) out += text(" leaves", id, name(cause));
  for (const auto& [id, candidate] : candidates_) {
    out += text(" c", id, candidate.admitted, candidate.ready, candidate.here.step, "/",
                since(candidate.since, now_), "-", candidate.lag, ".", candidate.least_lag, ".",
                candidate.records_without_gain);
    list(out, "!", candidate.unreachable);
  }
  return out + change_text();
}

std::string Core::change_text() const {
  if (change_.phase == Phase::kIdle) return {};
  std::string out =
      text(" ph", static_cast<int>(change_.phase), " g", change_.generation, ".",
           change_.stop_after, " l", change_.last, " since", since(change_.since, now_));
  list(out, " kept:", change_.kept);
  list(out, " joiners:", change_.joiners);
  if (change_.yields_at) out += text(" yields", until(*change_.yields_at, now_));
  for (const auto& [id, time] : change_.told) out += text(" told", id, since(time, now_));
  for (const auto& [id, asked] : change_.asked) {
    out += text(" ", id, asked.promised ? "+" : "-", asked.here.step);
    list(out, "!", asked.unreachable);
  }
  if (change_.next) {
    out += " next:";
    for (const model::Member& member : change_.next->members) out += member.id + ",";
  }
  return out;
}

}  // namespace edl::membership
