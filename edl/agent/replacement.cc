#include "edl/agent/replacement.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr std::size_t kFailedPartsMax = 1024;

bool is_programs_fault(model::ExitClass exit_class) {
  return exit_class == model::ExitClass::kCrashed || exit_class == model::ExitClass::kOom;
}

void drop_until(std::deque<Time>& times, Time last) {
  while (!times.empty() && times.front() <= last) times.pop_front();
}

}  // namespace

void Replacement::ended(const WorkerEnd& end, Time now) {
  if (!is_programs_fault(end.exit_class) || failure_) return;
  if (end.part && end.part->v) count_part(end);
  count_crash(end, now);
}

void Replacement::count_crash(const WorkerEnd& end, Time now) {
  drop_until(crashes_, now - rules_.window);
  crashes_.push_back(now);
  if (crashes_.size() > rules_.crashes_max) {
    if (failure_) return;
    const std::string told = end.part ? text(" (", end.part->message, ")") : "";
    failure_ = {text(crashes_.size(), " workers crashed within ", rules_.window,
                     "; the last one was ", end.id, told, ". ", end.reason),
                end.id, end.log};
    return;
  }
  Duration delay = rules_.first_delay;
  for (std::size_t i = 1; i < crashes_.size(); ++i) delay = std::min(2 * delay, rules_.delay_max);
  const Time until = now + delay;
  holds_.insert(std::upper_bound(holds_.begin(), holds_.end(), until), until);
}

void Replacement::count_part(const WorkerEnd& end) {
  const std::pair place(end.part->step, *end.part->v);
  const auto before = failed_parts_.find(place);
  if (before == failed_parts_.end()) {
    if (failed_parts_.size() < kFailedPartsMax) failed_parts_.emplace(place, end);
    return;
  }
  if (before->second.id == end.id) return;
  failure_ = {text("logical worker ", place.second, " of step ", place.first, " failed on ",
                   before->second.id, " (", before->second.part->message, ") and again on ", end.id,
                   " (", end.part->message, "), so the program would fail there for ever."),
              end.id, end.log};
}

Replacements Replacement::decide(std::uint32_t wanted, std::uint32_t alive, Time now) {
  drop_until(holds_, now);
  if (failure_ || alive >= wanted) return {};
  const auto missing = wanted - alive;
  const auto held = std::min<std::uint32_t>(missing, static_cast<std::uint32_t>(holds_.size()));
  Replacements answer{.start = missing - held};
  if (held > 0) answer.look_again = holds_.front();
  return answer;
}

}  // namespace edl::agent
