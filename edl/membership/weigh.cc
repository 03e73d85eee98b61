// Who goes on when links are broken: the fewest are left out, the leader too if need be.
#include <algorithm>

#include "edl/membership/core.h"

namespace edl::membership {
namespace {

// A connection that only broke is back within this time; a silent one has waited long enough.
constexpr Duration kMendTime = 30ms;

}  // namespace

// Decides who goes on, once all who can be heard have promised.
void Core::weigh() {
  if (change_.stop_after != model::Step() && is_forced()) {
    change_.stop_after = {};
    change_.told.clear();
  }
  const Ids alive = alive_members();
  bool all_promised = true;
  for (const model::WorkerId& id : alive) {
    if (change_.asked[id].promised || !reaches(id)) continue;
    all_promised = false;
    ask(id);
    if (change_.phase != Phase::kPreparing) return;  // our own promise was the last one
  }
  if (!all_promised) return;
  const BrokenLinks broken = broken_links(alive);
  const Places drop = fewest_to_drop(broken, view_->rank_of(self_)->value());
  if (waits_to_yield(broken, drop)) return;
  Ids kept;
  for (const model::WorkerId& id : alive) {
    if (!drop.contains(view_->rank_of(id)->value())) kept.push_back(id);
  }
  settle_on(kept);
}

BrokenLinks Core::broken_links(const Ids& alive) const {
  BrokenLinks broken;
  const auto add = [&](const model::WorkerId& one, const model::WorkerId& other) {
    if (one == other || is_exited(one) || is_exited(other)) return;
    const auto a = view_->rank_of(one);
    const auto b = view_->rank_of(other);
    if (a && b) broken.insert({std::min(a->value(), b->value()), std::max(a->value(), b->value())});
  };
  for (const model::WorkerId& id : alive) {
    if (!reaches(id)) add(self_, id);
    const auto asked = change_.asked.find(id);
    if (asked == change_.asked.end() || !asked->second.promised) continue;
    for (const model::WorkerId& other : asked->second.unreachable) add(id, other);
  }
  return broken;
}

// Links that just broke may come back at once. And when others would lose fewer members without us,
// one of them is given the lead, and we wait for it as long as silence is borne; if nothing comes
// of it, we go on.
bool Core::waits_to_yield(const BrokenLinks& broken, const Places& drop) {
  if (broken.empty()) return false;
  const bool only_silent = std::all_of(drop.begin(), drop.end(), [&](std::uint32_t rank) {
    return silent_.contains(view_->members[rank].id);
  });
  if (!only_silent && now_ < change_.since + kMendTime) return true;
  const Places fewest = fewest_to_drop(broken, std::nullopt);
  const std::size_t left = alive_members().size();
  const bool is_tie = left == 2 && *view_->rank_of(self_) > model::Rank(*drop.begin());
  if (drop.size() <= fewest.size() && !is_tie) return false;
  if (!change_.yields_at) {
    change_.yields_at = now_ + 2 * silence_;
    if (!is_tie) give_lead_beyond(fewest);
  }
  for (const model::Member& member : view_->members) {
    if (is_tie && complaints_.contains(member.id) && member.id != self_) {
      actions_.emplace_back(TakeLead{ballot_, member.id, "it has the lower rank"});
      change_.yields_at = now_ + 2 * silence_;
    }
  }
  return now_ < *change_.yields_at;
}

// To one that has just promised: who was not heard may be dead.
void Core::give_lead_beyond(const Places& dropped) {
  for (const model::Member& member : view_->members) {
    const model::Rank rank = *view_->rank_of(member.id);
    const auto asked = change_.asked.find(member.id);
    const bool is_there = asked != change_.asked.end() && asked->second.promised;
    if (dropped.contains(rank.value()) || !is_there || member.id == self_) continue;
    actions_.emplace_back(TakeLead{ballot_, member.id, "more members reach it"});
    return;
  }
}

}  // namespace edl::membership
