// When a leader is gone, and who comes after it. The leader key is replaced, never deleted, so two
// workers can never lead with the same ballot.
#include <algorithm>

#include "edl/membership/core.h"

namespace edl::membership {
namespace {

constexpr Duration kTurn = 50ms;         // an heir waits so long for each one before it
constexpr Duration kCampaignAgain = 1s;  // an attempt may be under way that long
// A worker whose lease is gone may only have lost the store; without any of them nobody can tell.
constexpr Duration kLostAfter = 10s;

}  // namespace

bool Core::is_exited(const model::WorkerId& id) const {
  const auto found = registered_.find(id);
  return found != registered_.end() && found->second.exited;
}

bool Core::is_gone(const model::WorkerId& id) const {
  if (is_exited(id)) return true;
  const auto gone = gone_since_.find(id);
  return gone != gone_since_.end() && now_ >= gone->second + kLostAfter;
}

bool Core::is_lost() const {
  if (!view_ || is_member()) return false;
  return std::all_of(view_->members.begin(), view_->members.end(),
                     [&](const model::Member& member) { return is_gone(member.id); });
}

// At least half of the others accuse it. One accuser of two members is not believed at once: if the
// leader answers in the store, the lower rank stays.
bool Core::is_accused_enough() const {
  if (!view_ || !view_->rank_of(leader_id_)) return false;
  std::size_t others = 0;
  std::size_t accusers = 0;
  for (const model::Member& member : view_->members) {
    if (member.id == leader_id_ || is_exited(member.id)) continue;
    ++others;
    if (complaints_.contains(member.id)) ++accusers;
  }
  if (accusers == 0 || 2 * accusers < others) return false;
  if (others > 1 || !complained_at_) return true;
  if (complaints_.contains(leader_id_)) return view_->rank_of(self_) < view_->rank_of(leader_id_);
  return now_ >= *complained_at_ + silence_;
}

std::string Core::why_leader_is_gone() const {
  if (leader_id_.empty()) return "there is no leader yet";
  if (is_exited(leader_id_)) return text("the leader ", leader_id_, " has ended");
  if (!registered_.contains(leader_id_)) {
    return text("the lease of the leader ", leader_id_, " is gone");
  }
  if (view_ && !is_lost() && !view_->rank_of(leader_id_)) {
    return text("the leader ", leader_id_, " is no member");
  }
  if (is_accused_enough()) return text("the members do not reach the leader ", leader_id_);
  return {};
}

// Who may lead, in the order in which they try: members of the view, or when there are none, all.
Ids Core::heirs() const {
  Ids ids;
  if (view_ && !is_lost()) {
    for (const model::Member& member : view_->members) {
      if (!is_exited(member.id) && member.id != leader_id_) ids.push_back(member.id);
    }
    return ids;
  }
  for (const auto& [id, worker] : registered_) {
    if (!worker.exited) ids.push_back(id);
  }
  return ids;
}

void Core::campaign() {
  // Who is not registered could lose the lead at once.
  if (leading_ || leader_id_ == self_ || !has_state_ || loading_ || !registered_.contains(self_))
    return;
  const std::string why = why_leader_is_gone();
  if (why.empty()) return campaign_at_.reset();
  const Ids ids = heirs();
  const auto place = std::find(ids.begin(), ids.end(), self_);
  if (place == ids.end() || (leaving_ && ids.size() > 1)) return;
  if (!campaign_at_) campaign_at_ = now_ + (place - ids.begin()) * kTurn;
  if (now_ < *campaign_at_) return;
  campaign_at_ = now_ + kCampaignAgain;
  actions_.emplace_back(TakeLead{ballot_, self_, why});
}

}  // namespace edl::membership
