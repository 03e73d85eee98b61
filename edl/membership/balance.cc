#include "edl/membership/balance.h"

#include <algorithm>
#include <cmath>

#include "edl/base/text.h"
#include "edl/model/assignment.h"

namespace edl::membership {
namespace {

constexpr int kSuccessorsCounted = 10;

Ids ids_of(const model::View& view) {
  Ids ids;
  for (const model::Member& member : view.members) ids.push_back(member.id);
  return ids;
}

// How long the slowest takes, in parts of one who is as fast as most.
double step_time(const std::vector<std::vector<model::LogicalWorker>>& logical,
                 const std::vector<double>& speeds) {
  double slowest = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    slowest = std::max(slowest, static_cast<double>(logical[i].size()) / speeds[i]);
  }
  return slowest;
}

}  // namespace

void Balance::tell(const model::WorkerId& id, double speed, Time now) {
  if (std::isfinite(speed) && speed > 0) told_[id] = {speed, now};
}

void Balance::on_view(const model::View& view, const std::optional<model::View>& before, Time now) {
  uneven_since_.reset();
  const bool is_replaced = view.cause == model::Cause::kStraggler && !view.rank_of(view.who);
  if (is_replaced && successors_ < kSuccessorsCounted) ++successors_;
  const auto is_gone = [&](const auto& entry) { return !view.rank_of(entry.first); };
  std::erase_if(told_, is_gone);
  std::erase_if(slow_since_, is_gone);
  if (!before || ids_of(*before) != ids_of(view)) {
    pause_ = kPauseFirst;
    return;
  }
  const auto moved = [&](const model::Member& member) {
    return before->members[view.rank_of(member.id)->value()].logical != member.logical;
  };
  if (std::none_of(view.members.begin(), view.members.end(), moved)) return;
  changed_at_ = now;
  pause_ = std::min(2 * pause_, kPauseMost);
}

// It had nothing to do for so long that what is known of it may not be true any more.
bool Balance::is_tried_again(const model::Member& member, Time now) const {
  const auto told = told_.find(member.id);
  if (!member.logical.empty() || told == told_.end()) return false;
  return now >= std::max(told->second.at, changed_at_) + pause_;
}

std::vector<double> Balance::speeds(const Ids& members, const std::optional<model::View>& view,
                                    Time now) const {
  std::vector<double> known;
  std::vector<double> all;
  for (const model::WorkerId& id : members) {
    const auto told = told_.find(id);
    const auto rank = view ? view->rank_of(id) : std::nullopt;
    const bool is_known =
        told != told_.end() && !(rank && is_tried_again(view->members[rank->value()], now));
    all.push_back(is_known ? told->second.speed : 0);
    if (told != told_.end()) known.push_back(told->second.speed);
  }
  if (known.size() < 2) return std::vector<double>(members.size(), 1);
  // Of two the faster one: one of them has a reason to be slow.
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  for (double& speed : all) {
    const double ratio = speed / *middle;
    const bool is_like_most = ratio > kLikeMost && ratio < 1 / kLikeMost;
    speed = speed == 0 || is_like_most ? 1 : std::clamp(ratio, 1.0 / 64, 64.0);
  }
  return all;
}

void Balance::note_slow(const model::View& view, const std::vector<double>& speeds, Time now) {
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const model::Member& member = view.members[i];
    if (speeds[i] < kSlow) {
      slow_since_.emplace(member.id, now);
    } else if (speeds[i] >= 1 && !member.logical.empty() && told_.contains(member.id)) {
      // It is like most again, and that was measured, not supposed.
      if (told_[member.id].at >= changed_at_) slow_since_.erase(member.id);
    }
  }
}

std::optional<Balance::Verdict> Balance::look(const model::View& view, Duration patience,
                                              Time now) {
  if (now < look_at_) return std::nullopt;
  look_at_ = now + kLookEvery;
  const std::vector<double> speeds = this->speeds(ids_of(view), view, now);
  note_slow(view, speeds, now);
  std::vector<std::vector<model::LogicalWorker>> carried;
  std::vector<model::Carrier> carriers;
  std::size_t logical_workers = 0;
  double together = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    carried.push_back(view.members[i].logical);
    carriers.push_back({speeds[i], carried.back()});
    logical_workers += carried.back().size();
    together += speeds[i];
  }
  const double time = step_time(carried, speeds);
  const auto is_worthwhile = [&](double better) { return better <= kWorthwhile * time; };
  // Nothing is faster than all of them at once; finding the best takes longer than this.
  const bool could_be = is_worthwhile(static_cast<double>(logical_workers) / together);
  if (!could_be ||
      !is_worthwhile(step_time(
          model::assign(static_cast<std::uint32_t>(logical_workers), carriers).logical, speeds))) {
    uneven_since_.reset();
    return std::nullopt;
  }
  if (!uneven_since_) uneven_since_ = now;
  if (now < *uneven_since_ + std::max(kSeenAtLeast, patience)) return std::nullopt;
  const Verdict verdict = explain(view, speeds, now);
  const bool is_forced = verdict.cause == model::Cause::kStraggler;
  if (!is_forced && changed_at_ != Time() && now < changed_at_ + pause_) return std::nullopt;
  return verdict;
}

Balance::Verdict Balance::explain(const model::View& view, const std::vector<double>& speeds,
                                  Time now) const {
  const auto load = [&](std::size_t i) {
    return static_cast<double>(view.members[i].logical.size()) / speeds[i];
  };
  std::size_t worst = 0;
  for (std::size_t i = 1; i < speeds.size(); ++i) {
    if (load(i) > load(worst)) worst = i;
  }
  const model::WorkerId& who = view.members[worst].id;
  if (speeds[worst] < 1) {
    return {model::Cause::kStraggler, who,
            text(who, " is ", std::round(10 / speeds[worst]) / 10,
                 " times slower than most; it carries less from now on")};
  }
  for (const model::Member& member : view.members) {
    if (!is_tried_again(member, now)) continue;
    return {model::Cause::kRebalance, member.id,
            text(member.id, " was slow and carried nothing; it is tried again")};
  }
  return {model::Cause::kRebalance, who,
          text("logical workers move from ", who, " to members that are faster")};
}

std::optional<model::WorkerId> Balance::slow_since_long(const model::View& view, Duration how_long,
                                                        Time now) const {
  for (const auto& [id, since] : slow_since_) {
    if (view.rank_of(id) && now >= since + how_long * (1 << successors_)) return id;
  }
  return std::nullopt;
}

std::string Balance::state_text(Time now) const {
  std::string out;
  for (const auto& [id, told] : told_)
    out += text(" s", id, told.speed, "/", (now - told.at) / 1ms);
  for (const auto& [id, since] : slow_since_) out += text(" slow", id, (now - since) / 1ms);
  if (successors_ > 0) out += text(" successors", successors_);
  if (uneven_since_) out += text(" uneven", (now - *uneven_since_) / 1ms);
  if (!told_.empty()) out += text(" moved", (now - changed_at_) / 1ms, "/", pause_ / 1ms);
  return out;
}

}  // namespace edl::membership
