// Reduces the numbers of one step after another over the members of a view: the shell around
// Schedule. Same bits for every number of members and whoever carries what.
//
// On the loop's thread. It looks into no device's memory: it passes Buffers to the Adder and the
// Links. In steady state it takes no memory for numbers: slots are made by `enter`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "edl/collective/adder.h"
#include "edl/collective/link.h"
#include "edl/collective/schedule.h"

namespace edl::collective {

struct AllReduceEvents {
  // Once per step, before the first byte of it is written to the buffer of reduced numbers: every
  // member has all of the step before it. It must not call back.
  std::function<void(model::Step)> first_reduced;
  // Every chunk is there. May come inside begin, contribute or on_bulk, as their last act; it may
  // call `begin` and `leave`. Who could call `contribute` from it does so in a turn of its own.
  std::function<void(model::Step, const model::Digest&)> reduced;
  // What a member did against the protocol before our step began, or a link that takes nothing any
  // more. The view cannot go on. May come inside any call, last; it may call `leave`.
  std::function<void(model::Rank, const Error&)> failed;
};

class AllReduce {
 public:
  // `layout` and `adder` outlive this; so does the memory of `reduced`, which nobody else writes.
  AllReduce(const Layout& layout, Adder& adder, const Buffer& reduced, AllReduceEvents events);
  ~AllReduce();

  // A new generation; everything of the older is forgotten. `links` by rank, null for `own`; they
  // live until `leave` or the next `enter`. Call it before the connections enter the generation:
  // they give what waited.
  void enter(const model::View& view, model::Rank own, std::vector<Link*> links);
  // Reduced numbers go there from the next `enter` on.
  void move_reduced(const Buffer& reduced);
  // `parts` logical workers have samples; the steps of a view follow one another from its first.
  void begin(model::Step step, std::uint32_t parts);
  // What this member is to contribute to the step.
  const std::vector<model::TreeNode>& own_nodes() const { return schedule_->own_nodes(); }
  // The partial sums of one of them, in the layout's space of sums. They stay as they are until the
  // step is reduced or, after `leave`, until the next `enter`: some of it may be on its way still,
  // to a member that has not left yet. Invalid when it is not to be contributed, or was.
  Result<void> contribute(model::TreeNode node, const Buffer& sums);
  // Before that, while the rest of the sums is still being computed: those of this segment from
  // byte `offset` on are there. What fills chunks is sent.
  Result<void> contribute_early(model::TreeNode node, const Buffer& sums, std::size_t segment,
                                std::uint64_t offset);
  // Nothing more is sent, taken or told of this generation.
  void leave();

  // Bulk data of a type that messages.h names. An error is a violation of the protocol by `from`.
  Result<void> on_bulk(model::Rank from, const wire::Header& header, std::uint64_t offset,
                       ConstBytes piece);
  // Where a frame of which on_bulk took the first piece may be read to, from `offset` on.
  ByteSpan bulk_place(model::Rank from, const wire::Header& header, std::uint64_t offset);

  bool entered() const { return schedule_ != nullptr; }

 private:
  // What is coming from one member: one frame at a time.
  struct Stream {
    bool is_open = false;  // a frame of which something was taken lacks more
    Incoming share;
    std::uint64_t hashed_blocks = 0;
    std::array<std::byte, 8> cut{};  // an element of which not all came
    std::size_t cut_bytes = 0;
  };

  Result<void> take_share(model::Rank from, const wire::Header& header, std::uint64_t offset,
                          ConstBytes piece);
  Result<void> take_empty_share(model::Rank from, const wire::Header& header);
  Result<void> take_reduced(model::Rank from, const wire::Header& header, std::uint64_t offset,
                            ConstBytes piece);
  Result<void> take_hashes(model::Rank from, const wire::Header& header, std::uint64_t offset,
                           ConstBytes piece);
  void add_piece(Stream& stream, std::uint64_t offset, ConstBytes piece);
  void add_elements(const Work& work, std::uint64_t offset, ConstBytes piece);
  void finish_blocks(const Work& work, std::uint64_t done, std::uint64_t& hashed_blocks);

  // What this member contributes of one of its nodes.
  struct Contribution {
    Buffer sums{};
    std::vector<bool> chunks{};  // those that were
    bool is_whole = false;
  };
  Result<std::uint32_t> expected(model::TreeNode node) const;
  void contribute_chunks(std::uint32_t own_node, std::span<const std::uint32_t> chunks);
  void send_share(std::uint32_t own_node, std::uint32_t chunk);
  void send_empty_shares();
  void send_reduced(std::uint32_t chunk);
  void post(model::Rank to, const wire::MessageHead& head, const Buffer& bytes);
  void flush();

  void do_work();
  void do_last(const Work& work);
  void chunk_finished(std::uint32_t chunk);
  void tell_first();
  void settle();
  void tell_reduced();

  bool is_direct(const Work& work) const;
  Buffer at(const Work& work, const Place& place) const;
  std::uint64_t slot_of(const Incoming& share) const;
  Buffer sum_place(const Work& work) const;
  Buffer reduced_part(const Chunk& chunk) const;
  std::span<BlockHash> hashes_of(const Chunk& chunk);

  const Layout& layout_;
  Adder& adder_;
  Buffer reduced_;
  const AllReduceEvents events_;

  std::unique_ptr<Schedule> schedule_;
  model::Generation generation_;
  model::Rank own_;
  std::vector<Link*> links_;
  std::vector<Stream> streams_;  // by rank
  Buffer slots_;
  std::vector<std::uint64_t> slot_offsets_;  // of each chunk's slots; of own chunks only
  std::vector<BlockHash> hashes_;            // of all blocks
  std::vector<Contribution> contributed_;    // by own node
  std::uint64_t posted_bytes_ = 0;           // since the last flush
  bool told_first_ = false;
  bool told_reduced_ = false;
  bool is_inside_ = false;  // of a call that will settle when it ends
  std::optional<Violation> failure_;
  std::shared_ptr<std::uint64_t> life_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace edl::collective
