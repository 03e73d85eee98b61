// What a member has to send, add and wait for, to reduce one step after another in one view. Plain
// state: it knows chunks and nodes of the tree, others hold the numbers.
//
// Each chunk has an owner. All members send the owner their partial sums of it (shares), or once
// that they carry no samples (an empty share); the owner adds them in the order of the tree, and
// when something of ALL members is there it sends the reduced chunk to all.
//
// A share of step s + 1 can come before this member has all of s. Then it has reduced all chunks of
// s that it owns: the sender sends nothing of s + 1 before it has every chunk of s, these too. So
// the owner's half of the state is always in one step, the one after those whose chunks it has
// reduced. A reduced chunk of s + 1 cannot come early: it contains this member's share.
// By the same reasons the first reduced chunk of s + 1 proves that every member has all of s.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "edl/collective/layout.h"
#include "edl/collective/messages.h"
#include "edl/collective/plan.h"

namespace edl::collective {

// Where a partial sum of a chunk lies: in what this member contributed, as the `index`th of
// own_nodes(), or in the chunk's `index`th slot for what others send.
struct Place {
  enum class Kind : std::uint8_t { kNone, kOwn, kSlot };
  Kind kind = Kind::kNone;
  std::uint32_t index = 0;
  bool operator==(const Place&) const = default;
};

// An addition to be made: left + right into `sum`. The last one of a chunk gives the reduced chunk,
// then `sum` is room for it; it has no `right` when one member's sum is the whole.
struct Work {
  std::uint32_t chunk = 0;
  Place left;
  Place right;
  Place sum;
  bool is_last = false;
};

// A share that begins to come. When the other operand of its addition is there already, it may be
// added while it comes: `work` is that addition and has kNone where the share itself stands.
struct Incoming {
  std::uint32_t chunk = 0;
  std::uint32_t slot = 0;
  std::optional<Work> work;
};

// What a member did against the protocol.
struct Violation {
  model::Rank by;
  Error error;
};

class Schedule {
 public:
  Schedule(const model::View& view, model::Rank own, std::vector<Chunk> chunks);

  // `parts` logical workers have samples in this step, which follows the one before it. Shares that
  // came early are looked at now.
  std::optional<Violation> begin(model::Step step, std::uint32_t parts);
  // What this member is to contribute, from left to right; nothing when it sends empty shares.
  const std::vector<model::TreeNode>& own_nodes() const { return own_nodes_; }
  // Of one of them, the numbers of an own chunk are there.
  void contribute(std::uint32_t own_node, std::uint32_t chunk);

  // Something comes from another member. Errors are the sender's fault, and change nothing.
  Result<Incoming> share_begins(model::Rank from, const ChunkHead& head);
  void share_ends(const Incoming& share);
  Result<void> empty_share(model::Rank from, model::Step step);
  Result<void> reduced_begins(model::Rank from, const ChunkHead& head);
  void reduced_ends(std::uint32_t chunk);
  Result<void> hashes_begin(model::Rank from, const ChunkHead& head);
  void hashes_end(std::uint32_t chunk);
  // An own chunk is reduced and hashed.
  void own_chunk_done(std::uint32_t chunk);

  // What the last call made possible, in order.
  std::span<const Work> work() const { return work_; }

  const std::vector<Chunk>& chunks() const { return chunks_; }
  bool owns(std::uint32_t chunk) const { return chunks_[chunk].owner == own_; }
  std::uint32_t slots() const { return slots_; }  // of each own chunk
  std::uint32_t members() const { return members_; }
  bool is_owner(model::Rank rank) const { return is_owner_[rank.value()]; }
  model::Step step() const { return step_; }
  // Every chunk of the step is there.
  bool all_reduced() const { return begun_ && missing_ == 0; }
  bool begun() const { return begun_; }

 private:
  enum class State : std::uint8_t { kAbsent, kComing, kThere };
  struct Arrival {  // in a slot
    std::uint32_t hi = 0;
    State state = State::kAbsent;
  };
  struct Gathered {  // of a chunk
    State reduced = State::kAbsent;
    State hashes = State::kAbsent;
  };

  std::uint32_t own_index(std::uint32_t chunk) const { return chunk - first_own_; }
  Arrival& arrival(std::uint32_t chunk, std::uint32_t slot);
  Place& place(std::uint32_t chunk, std::uint32_t node);
  Work addition(std::uint32_t chunk, std::uint32_t parent);
  std::optional<Work> joining(std::uint32_t chunk, std::uint32_t leaf);
  void ready(std::uint32_t chunk, std::uint32_t node, Place where);
  void try_finish(std::uint32_t chunk);
  std::optional<Violation> check_early();
  std::optional<Error> wrong_node(model::TreeNode node, model::Rank from) const;
  Result<void> check_gathered(model::Rank from, const ChunkHead& head, std::uint64_t bytes) const;
  void gathered(std::uint32_t chunk);
  void begin_owning(model::Step step);

  const model::Rank own_;
  const std::uint32_t members_;
  const std::vector<model::Rank> carriers_;
  const std::vector<Chunk> chunks_;
  std::uint32_t first_own_ = 0;  // own chunks are a run
  std::uint32_t own_count_ = 0;

  const Plan whole_;  // of a step in which all have samples; its leaves give the slots
  std::vector<std::uint32_t> slot_of_;  // by node of whole_
  std::vector<std::uint32_t> slot_lo_;  // where the leaf of each slot begins
  std::uint32_t slots_ = 0;
  std::vector<bool> is_owner_;

  model::Step step_;
  bool begun_ = false;
  Plan plan_;
  std::vector<model::TreeNode> own_nodes_;
  std::vector<Gathered> gathered_;
  std::size_t missing_ = 0;

  // The owner's half. `arrivals_` do not need the plan, `places_` do.
  model::Step owning_;
  bool owning_begun_ = false;
  std::vector<Arrival> arrivals_;
  std::vector<Place> places_;
  std::vector<bool> finished_;
  std::vector<bool> is_empty_;  // by rank: said so
  std::uint32_t empty_missing_ = 0;
  std::uint32_t own_done_ = 0;
  std::vector<Work> work_;
};

}  // namespace edl::collective
