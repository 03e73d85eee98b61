#include "edl/model/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "edl/model/words.h"

namespace edl::model {
namespace {

constexpr std::array<std::string_view, 10> kCauses{"start", "join",    "leave",     "death",
                                                   "scale", "preempt", "straggler", "rebalance",
                                                   "batch", "resume"};

Result<void> validate_members(const View& view) {
  if (view.members.empty()) return Error{Code::kInvalid, "it has no members"};
  const std::size_t most = std::min<std::size_t>(kMembersMax, view.logical_workers());
  if (view.members.size() > most) {
    return Error{Code::kInvalid,
                 text("it has ", view.members.size(), " members for ", view.logical_workers(),
                      " logical workers; it can have at ", "most ", most)};
  }
  std::set<std::string_view> ids;
  for (const Member& member : view.members) {
    EDL_TRY(validate_name("worker", member.id));
    if (!ids.insert(member.id).second) {
      return Error{Code::kInvalid, text("worker ", member.id, " is a member twice")};
    }
  }
  return {};
}

// Who carries each logical worker is entered into `carriers`, as large as there are any.
Result<void> enter(const Member& member, std::vector<const Member*>& carriers) {
  for (const LogicalWorker v : member.logical) {
    if (v.value() >= carriers.size()) {
      return Error{Code::kInvalid,
                   text("worker ", member.id, " carries logical worker ", v, " of only ",
                        carriers.size(), ", counted from 0; one is missing or there twice")};
    }
    const Member* other = std::exchange(carriers[v.value()], &member);
    if (other == nullptr) continue;
    return Error{Code::kInvalid, text("logical worker ", v, " is carried by worker ", other->id,
                                      " and by worker ", member.id, "; it must be carried once")};
  }
  return {};
}

Result<void> validate_logical(const View& view) {
  EDL_TRY(validate_logical_workers(view.logical_workers()));
  std::vector<const Member*> carriers(view.logical_workers());
  for (const Member& member : view.members) {
    EDL_TRY(enter(member, carriers));
    if (!std::is_sorted(member.logical.begin(), member.logical.end())) {
      return Error{Code::kInvalid,
                   text("the logical workers of worker ", member.id, " are not in order")};
    }
  }
  return {};
}

Result<void> validate_all(const View& view) {
  if (view.lane != Lane(0)) {
    return Error{Code::kInvalid, text("lane ", view.lane, " is not in use yet, only 0")};
  }
  if (view.first_step < Step(1)) {
    return Error{Code::kInvalid, "its first step is 0; steps count from 1"};
  }
  if (!std::isfinite(view.lr_factor) || view.lr_factor < 0) {
    return Error{Code::kInvalid, text("a learning-rate factor of ", view.lr_factor,
                                      " is of no use; it must be finite and not negative")};
  }
  EDL_TRY(validate_members(view));
  EDL_TRY(validate_logical(view));
  return validate(view.batch, view.logical_workers());
}

}  // namespace

std::string_view name(Cause cause) { return word_of(cause, kCauses); }

Result<Cause> parse_cause(std::string_view word) {
  return parse_word<Cause>("cause", word, kCauses);
}

Crowd View::crowd() const {
  return {generation, replays > 0 ? replays : static_cast<std::uint32_t>(members.size())};
}

std::uint32_t View::logical_workers() const {
  std::size_t total = 0;
  for (const Member& member : members) total += member.logical.size();
  return static_cast<std::uint32_t>(total);
}

std::optional<Rank> View::rank_of(std::string_view id) const {
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    if (members[rank].id == id) return Rank(rank);
  }
  return std::nullopt;
}

std::optional<Rank> View::carrier_of(LogicalWorker v) const {
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    const auto& logical = members[rank].logical;
    if (std::binary_search(logical.begin(), logical.end(), v)) return Rank(rank);
  }
  return std::nullopt;
}

Result<void> validate(const View& view) {
  auto valid = validate_all(view);
  if (valid.ok()) return {};
  return Error{Code::kInvalid, text("view ", view.generation, ": ", valid.error().message)};
}

}  // namespace edl::model
