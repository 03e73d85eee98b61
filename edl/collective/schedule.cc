#include "edl/collective/schedule.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::collective {
namespace {

using model::Rank;
using model::Step;
using model::TreeNode;

constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

Error violation(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string node_text(TreeNode node) { return text("[", node.lo, ", ", node.hi, ")"); }

}  // namespace

Schedule::Schedule(const model::View& view, Rank own, std::vector<Chunk> chunks)
    : own_(own),
      members_(static_cast<std::uint32_t>(view.members.size())),
      carriers_(carriers_of(view)),
      chunks_(std::move(chunks)),
      whole_(carriers_, static_cast<std::uint32_t>(carriers_.size())),
      step_(view.first_step),
      gathered_(chunks_.size()) {
  EDL_CHECK(own.value() < members_ && !chunks_.empty());
  const auto first = std::find_if(chunks_.begin(), chunks_.end(),
                                  [&](const Chunk& chunk) { return chunk.owner == own; });
  first_own_ = static_cast<std::uint32_t>(first - chunks_.begin());
  own_count_ = static_cast<std::uint32_t>(std::count_if(
      chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) { return chunk.owner == own; }));
  slot_of_.assign(whole_.nodes().size(), kNoSlot);
  for (const std::uint32_t leaf : whole_.leaves()) {
    if (whole_.nodes()[leaf].from == own) continue;
    slot_of_[leaf] = slots_++;
    slot_lo_.push_back(whole_.nodes()[leaf].node.lo);
  }
  is_owner_.resize(members_);
  for (const Chunk& chunk : chunks_) is_owner_[chunk.owner.value()] = true;
  arrivals_.resize(std::size_t{own_count_} * slots_);
  places_.resize(own_count_ * whole_.nodes().size());
  finished_.resize(own_count_);
  is_empty_.resize(members_);
  work_.reserve(whole_.nodes().size() * std::max(own_count_, 1u));
  begin_owning(step_);
}

Schedule::Arrival& Schedule::arrival(std::uint32_t chunk, std::uint32_t slot) {
  return arrivals_[std::size_t{own_index(chunk)} * slots_ + slot];
}

Place& Schedule::place(std::uint32_t chunk, std::uint32_t node) {
  return places_[own_index(chunk) * whole_.nodes().size() + node];
}

void Schedule::begin_owning(Step step) {
  owning_ = step;
  owning_begun_ = false;
  std::fill(arrivals_.begin(), arrivals_.end(), Arrival());
  std::fill(places_.begin(), places_.end(), Place());
  std::fill(finished_.begin(), finished_.end(), false);
  std::fill(is_empty_.begin(), is_empty_.end(), false);
  own_done_ = 0;
}

std::optional<Violation> Schedule::begin(Step step, std::uint32_t parts) {
  EDL_CHECK(begun_ ? step == step_.next() && all_reduced() : step == step_,
            "steps follow one another");
  EDL_CHECK(own_count_ == 0 || owning_ == step);
  work_.clear();
  step_ = step;
  begun_ = true;
  if (plan_.parts() != parts) plan_ = Plan(carriers_, parts);
  own_nodes_.clear();
  for (const std::uint32_t leaf : plan_.leaves()) {
    if (plan_.nodes()[leaf].from == own_) own_nodes_.push_back(plan_.nodes()[leaf].node);
  }
  std::fill(gathered_.begin(), gathered_.end(), Gathered());
  missing_ = chunks_.size();
  if (own_count_ == 0) return std::nullopt;

  if (auto early = check_early()) return early;
  owning_begun_ = true;
  for (std::uint32_t chunk = first_own_; chunk < first_own_ + own_count_; ++chunk) {
    for (const std::uint32_t leaf : plan_.leaves()) {
      if (plan_.nodes()[leaf].from == own_) continue;
      const std::uint32_t slot = slot_of_[*whole_.leaf_at(plan_.nodes()[leaf].node.lo)];
      if (arrival(chunk, slot).state != State::kThere) continue;
      ready(chunk, leaf, {Place::Kind::kSlot, slot});
    }
  }
  return std::nullopt;
}

// What came before this step began here was not compared with its plan.
std::optional<Violation> Schedule::check_early() {
  for (const std::uint32_t leaf : whole_.leaves()) {
    const std::uint32_t slot = slot_of_[leaf];
    if (slot == kNoSlot) continue;
    const Plan::Node& node = whole_.nodes()[leaf];
    for (std::uint32_t chunk = first_own_; chunk < first_own_ + own_count_; ++chunk) {
      const Arrival& came = arrival(chunk, slot);
      if (came.state == State::kAbsent) continue;
      if (const auto wrong = wrong_node({node.node.lo, came.hi}, node.from)) {
        return Violation{node.from, *wrong};
      }
    }
  }
  empty_missing_ = 0;
  for (std::uint32_t i = 0; i < members_; ++i) {
    const Rank rank(i);
    if (rank == own_) continue;
    const bool has_samples = plan_.has_leaf_of(rank);
    if (is_empty_[i] && has_samples) {
      return Violation{rank, violation(text("rank ", rank, " has samples in step ", step_,
                                            " and sent an empty share"))};
    }
    if (!is_empty_[i] && !has_samples) ++empty_missing_;
  }
  return std::nullopt;
}

std::optional<Error> Schedule::wrong_node(TreeNode node, Rank from) const {
  const auto leaf = plan_.leaf_at(node.lo);
  if (leaf && plan_.nodes()[*leaf].node == node && plan_.nodes()[*leaf].from == from) return {};
  return violation(text("rank ", from, " sent a share of ", node_text(node), " in step ", owning_,
                        ", which is not its to make"));
}

void Schedule::contribute(std::uint32_t own_node, std::uint32_t chunk) {
  work_.clear();
  EDL_CHECK(owns(chunk) && owning_begun_ && owning_ == step_);
  const auto leaf = plan_.leaf_at(own_nodes_[own_node].lo);
  EDL_CHECK(place(chunk, *leaf) == Place(), "contributed twice");
  ready(chunk, *leaf, {Place::Kind::kOwn, own_node});
}

Result<Incoming> Schedule::share_begins(Rank from, const ChunkHead& head) {
  EDL_CHECK(from != own_ && from.value() < members_);
  const auto refuse = [&](std::string_view why) {
    return violation(text("rank ", from, " sent a share of ", node_text(head.node), " of chunk ",
                          head.chunk, " of step ", head.step, ": ", why));
  };
  if (head.chunk >= chunks_.size() || !owns(head.chunk)) return refuse("the chunk is not mine");
  if (head.step != owning_) return refuse(text("step ", owning_, " is being added"));
  if (head.bytes != chunks_[head.chunk].sums.bytes) {
    return refuse(text(head.bytes, " bytes instead of ", chunks_[head.chunk].sums.bytes));
  }
  const auto whole = whole_.leaf_at(head.node.lo);
  if (!whole || whole_.nodes()[*whole].from != from || is_empty_[from.value()]) {
    return refuse("it is not its to make");
  }
  if (owning_begun_) {
    if (auto wrong = wrong_node(head.node, from)) return *wrong;
  }
  const std::uint32_t slot = slot_of_[*whole];
  Arrival& came = arrival(head.chunk, slot);
  if (came.state != State::kAbsent) return refuse("it came before");
  came = {head.node.hi, State::kComing};
  Incoming share{.chunk = head.chunk, .slot = slot, .work = {}};
  if (owning_begun_) share.work = joining(head.chunk, *plan_.leaf_at(head.node.lo));
  return share;
}

// The addition of a leaf that begins to come, if its other operand is there. The last addition of a
// chunk must also wait until all members have sent something.
std::optional<Work> Schedule::joining(std::uint32_t chunk, std::uint32_t leaf) {
  const std::uint32_t parent = plan_.nodes()[leaf].parent;
  if (leaf == Plan::kRoot || place(chunk, plan_.sibling(leaf)) == Place()) return std::nullopt;
  if (parent == Plan::kRoot && empty_missing_ > 0) return std::nullopt;
  const std::uint32_t slot = slot_of_[*whole_.leaf_at(plan_.nodes()[leaf].node.lo)];
  Work work = addition(chunk, parent);
  if (work.sum == Place()) work.sum = {Place::Kind::kSlot, slot};
  return work;
}

// Into a slot: what was contributed is only read. Two contributions are never added to each other,
// for the cover would have had their parent.
Work Schedule::addition(std::uint32_t chunk, std::uint32_t parent) {
  const Plan::Node& node = plan_.nodes()[parent];
  Work work{.chunk = chunk,
            .left = place(chunk, node.left),
            .right = place(chunk, node.right),
            .sum = {},
            .is_last = parent == Plan::kRoot};
  if (work.right.kind == Place::Kind::kSlot) work.sum = work.right;
  if (work.left.kind == Place::Kind::kSlot) work.sum = work.left;
  return work;
}

void Schedule::share_ends(const Incoming& share) {
  work_.clear();
  Arrival& came = arrival(share.chunk, share.slot);
  EDL_CHECK(came.state == State::kComing);
  came.state = State::kThere;
  if (!owning_begun_) return;
  const std::uint32_t leaf = *plan_.leaf_at(slot_lo_[share.slot]);
  if (!share.work) return ready(share.chunk, leaf, {Place::Kind::kSlot, share.slot});
  if (share.work->is_last) {
    finished_[own_index(share.chunk)] = true;
  } else {
    ready(share.chunk, plan_.nodes()[leaf].parent, share.work->sum);
  }
}

void Schedule::ready(std::uint32_t chunk, std::uint32_t node, Place where) {
  place(chunk, node) = where;
  while (node != Plan::kRoot) {
    const std::uint32_t parent = plan_.nodes()[node].parent;
    if (parent == Plan::kRoot || place(chunk, plan_.sibling(node)) == Place()) break;
    work_.push_back(addition(chunk, parent));
    place(chunk, parent) = work_.back().sum;
    node = parent;
  }
  try_finish(chunk);
}

void Schedule::try_finish(std::uint32_t chunk) {
  if (empty_missing_ > 0 || finished_[own_index(chunk)]) return;
  const Plan::Node& root = plan_.nodes()[Plan::kRoot];
  if (root.is_leaf()) {
    const Place whole = place(chunk, Plan::kRoot);
    if (whole == Place()) return;
    work_.push_back({.chunk = chunk, .left = whole, .right = {}, .sum = whole, .is_last = true});
  } else {
    if (place(chunk, root.left) == Place() || place(chunk, root.right) == Place()) return;
    work_.push_back(addition(chunk, Plan::kRoot));
  }
  finished_[own_index(chunk)] = true;
}

Result<void> Schedule::empty_share(Rank from, Step step) {
  EDL_CHECK(from != own_ && from.value() < members_);
  work_.clear();
  const auto refuse = [&](std::string_view why) {
    return violation(text("rank ", from, " sent an empty share of step ", step, ": ", why));
  };
  if (own_count_ == 0) return refuse("no chunk is mine");
  if (step != owning_) return refuse(text("step ", owning_, " is being added"));
  if (is_empty_[from.value()]) return refuse("it came before");
  if (owning_begun_ && plan_.has_leaf_of(from)) return refuse("it has samples");
  is_empty_[from.value()] = true;
  if (!owning_begun_) return {};
  if (--empty_missing_ > 0) return {};
  for (std::uint32_t chunk = first_own_; chunk < first_own_ + own_count_; ++chunk) {
    try_finish(chunk);
  }
  return {};
}

Result<void> Schedule::check_gathered(Rank from, const ChunkHead& head, std::uint64_t bytes) const {
  const auto refuse = [&](std::string_view why) {
    return violation(text("rank ", from, " sent the reduced chunk ", head.chunk, " of step ",
                          head.step, ": ", why));
  };
  if (head.chunk >= chunks_.size() || chunks_[head.chunk].owner != from) {
    return refuse("the chunk is not its own");
  }
  if (!begun_ || head.step != step_) return refuse(text("this is step ", step_));
  if (head.bytes != bytes) return refuse(text(head.bytes, " bytes instead of ", bytes));
  return {};
}

Result<void> Schedule::reduced_begins(Rank from, const ChunkHead& head) {
  const bool known = head.chunk < chunks_.size();
  EDL_TRY(check_gathered(from, head, known ? chunks_[head.chunk].reduced.bytes : 0));
  if (gathered_[head.chunk].reduced != State::kAbsent) {
    return violation(text("rank ", from, " sent the reduced chunk ", head.chunk, " twice"));
  }
  gathered_[head.chunk].reduced = State::kComing;
  return {};
}

void Schedule::reduced_ends(std::uint32_t chunk) {
  gathered_[chunk].reduced = State::kThere;
  gathered(chunk);
}

Result<void> Schedule::hashes_begin(Rank from, const ChunkHead& head) {
  const bool known = head.chunk < chunks_.size();
  EDL_TRY(check_gathered(from, head, known ? chunks_[head.chunk].blocks * kBlockHashBytes : 0));
  if (gathered_[head.chunk].hashes != State::kAbsent) {
    return violation(text("rank ", from, " sent the hashes of chunk ", head.chunk, " twice"));
  }
  gathered_[head.chunk].hashes = State::kComing;
  return {};
}

void Schedule::hashes_end(std::uint32_t chunk) {
  gathered_[chunk].hashes = State::kThere;
  gathered(chunk);
}

void Schedule::gathered(std::uint32_t chunk) {
  work_.clear();
  const Gathered& now = gathered_[chunk];
  if (now.reduced == State::kThere && now.hashes == State::kThere) --missing_;
}

void Schedule::own_chunk_done(std::uint32_t chunk) {
  EDL_CHECK(owns(chunk) && finished_[own_index(chunk)]);
  --missing_;
  if (++own_done_ == own_count_) begin_owning(step_.next());
}

}  // namespace edl::collective
