#include "edl/membership/agreement.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::membership {
namespace {

constexpr std::size_t kOwnMax = 64;
constexpr std::size_t kAheadMax = 1024;

}  // namespace

std::vector<std::string> Agreement::tell_own(const model::WorkerId& self, const StateMark& mark) {
  self_ = self;
  if (mark.step <= own().step) {
    own_.clear();
    ahead_.clear();
  }
  own_.push_back(mark);
  if (own_.size() > kOwnMax) own_.pop_front();
  std::vector<std::string> out;
  std::erase_if(ahead_, [&](const auto& other) {
    if (other.second.step > mark.step) return false;
    if (const auto found = difference(other.first, other.second)) out.push_back(*found);
    return true;
  });
  return out;
}

std::optional<std::string> Agreement::tell(const model::WorkerId& id, const StateMark& mark) {
  if (mark.step <= own().step) return difference(id, mark);
  if (ahead_.size() < kAheadMax) ahead_[id] = mark;
  return std::nullopt;
}

void Agreement::keep(const std::vector<model::Member>& before, const model::View& view) {
  for (const model::Member& member : before) {
    if (view.rank_of(member.id)) continue;
    ahead_.erase(member.id);
    told_.erase(member.id);
  }
}

std::optional<std::string> Agreement::difference(const model::WorkerId& id, const StateMark& mark) {
  const auto own = std::ranges::find(own_, mark.step, &StateMark::step);
  const bool differs = own != own_.end() && own->digest != mark.digest;
  if (!differs || !told_.insert(id).second) return std::nullopt;
  return text("the state of ", id, " is not that of ", self_, " after step ", mark.step,
              ": the memory of one of them has failed, or the program changes its state in a way "
              "that depends on the worker. Their model is not the one of a single worker");
}

}  // namespace edl::membership
