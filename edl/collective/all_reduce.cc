#include "edl/collective/all_reduce.h"

#include <algorithm>
#include <utility>

#include "edl/base/text.h"

namespace edl::collective {

using model::Rank;
using model::Step;

namespace {

// More than this is sent at once, before other chunks are added; less may leave together.
constexpr std::uint64_t kPostedBytesMax = 64 << 10;

}  // namespace

AllReduce::AllReduce(const Layout& layout, Adder& adder, const Buffer& reduced,
                     AllReduceEvents events)
    : layout_(layout),
      adder_(adder),
      reduced_(reduced),
      events_(std::move(events)),
      hashes_(layout.blocks()) {
  EDL_CHECK(reduced.bytes() >= layout.reduced_bytes());
}

AllReduce::~AllReduce() { leave(); }

void AllReduce::move_reduced(const Buffer& reduced) {
  EDL_CHECK(!entered() && reduced.bytes() >= layout_.reduced_bytes());
  reduced_ = reduced;
}

void AllReduce::enter(const model::View& view, Rank own, std::vector<Link*> links) {
  leave();
  EDL_CHECK(links.size() == view.members.size());
  const auto members = static_cast<std::uint32_t>(view.members.size());
  schedule_ = std::make_unique<Schedule>(view, own, layout_.chunks(members));
  generation_ = view.generation;
  own_ = own;
  links_ = std::move(links);
  streams_.assign(members, {});
  slot_offsets_.assign(schedule_->chunks().size(), 0);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < schedule_->chunks().size(); ++i) {
    slot_offsets_[i] = bytes;
    if (schedule_->owns(i)) bytes += schedule_->chunks()[i].sums.bytes * schedule_->slots();
  }
  slots_ = adder_.room(bytes);
  contributed_.clear();
}

void AllReduce::leave() {
  ++*life_;
  schedule_ = nullptr;
  // What is on its way still goes out: others may need it to complete a step that we have.
  links_.clear();
  failure_.reset();
}

void AllReduce::begin(Step step, std::uint32_t parts) {
  EDL_CHECK(schedule_ != nullptr);
  is_inside_ = true;
  told_first_ = told_reduced_ = false;
  failure_ = schedule_->begin(step, parts);
  contributed_.assign(schedule_->own_nodes().size(), Contribution());
  if (!failure_) {
    do_work();
    if (schedule_->own_nodes().empty()) send_empty_shares();
  }
  settle();
}

Result<std::uint32_t> AllReduce::expected(model::TreeNode node) const {
  EDL_CHECK(schedule_ != nullptr);
  const auto& nodes = schedule_->own_nodes();
  const auto found = std::find(nodes.begin(), nodes.end(), node);
  const auto index = static_cast<std::uint32_t>(found - nodes.begin());
  if (!schedule_->begun() || found == nodes.end() || contributed_[index].is_whole) {
    return Error{Code::kInvalid, text("cannot contribute [", node.lo, ", ", node.hi, ") to step ",
                                      schedule_->step(), ": it is not expected, or came before")};
  }
  return index;
}

Result<void> AllReduce::contribute(model::TreeNode node, const Buffer& sums) {
  EDL_TRY(const std::uint32_t index, expected(node));
  EDL_CHECK(sums.bytes() >= layout_.sum_bytes());
  Contribution& own = contributed_[index];
  own.sums = sums;
  own.is_whole = true;
  std::vector<std::uint32_t> rest;
  own.chunks.resize(schedule_->chunks().size());
  for (std::uint32_t i = 0; i < own.chunks.size(); ++i) {
    if (!own.chunks[i]) rest.push_back(i);
  }
  contribute_chunks(index, rest);
  return {};
}

Result<void> AllReduce::contribute_early(model::TreeNode node, const Buffer& sums,
                                         std::size_t segment, std::uint64_t offset) {
  EDL_TRY(const std::uint32_t index, expected(node));
  Contribution& own = contributed_[index];
  own.sums = sums;
  own.chunks.resize(schedule_->chunks().size());
  const std::uint64_t from = layout_.sums(segment).offset + offset;
  std::vector<std::uint32_t> there;
  for (std::uint32_t i = 0; i < own.chunks.size(); ++i) {
    const Chunk& chunk = schedule_->chunks()[i];
    if (chunk.segment != segment || chunk.sums.offset < from || own.chunks[i]) continue;
    own.chunks[i] = true;
    there.push_back(i);
  }
  if (!there.empty()) contribute_chunks(index, there);
  return {};
}

// Others wait for what they add, so it leaves first.
void AllReduce::contribute_chunks(std::uint32_t own_node, std::span<const std::uint32_t> chunks) {
  is_inside_ = true;
  for (const std::uint32_t chunk : chunks) {
    if (!schedule_->owns(chunk)) send_share(own_node, chunk);
  }
  for (const std::uint32_t chunk : chunks) {
    if (!schedule_->owns(chunk)) continue;
    schedule_->contribute(own_node, chunk);
    do_work();
  }
  settle();
}

void AllReduce::post(Rank to, const wire::MessageHead& head, const Buffer& bytes) {
  const auto posted = links_[to.value()]->post(head, bytes, {});
  if (!posted.ok() && !failure_) failure_ = Violation{to, posted.error()};
  posted_bytes_ += wire::kHeaderBytes + bytes.bytes();
  if (posted_bytes_ > kPostedBytesMax) flush();
}

void AllReduce::flush() {
  if (posted_bytes_ == 0) return;
  posted_bytes_ = 0;
  for (Link* const link : links_) {
    if (link != nullptr) link->flush();
  }
}

void AllReduce::send_share(std::uint32_t own_node, std::uint32_t index) {
  const Chunk& chunk = schedule_->chunks()[index];
  const ChunkHead head{
      .step = schedule_->step(), .chunk = index, .node = schedule_->own_nodes()[own_node]};
  post(chunk.owner, share_head(generation_, head),
       contributed_[own_node].sums.part(chunk.sums.offset, chunk.sums.bytes));
}

void AllReduce::send_empty_shares() {
  const wire::MessageHead head{
      .type = kEmptyShare, .generation = generation_, .first = schedule_->step().value()};
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (Rank(i) != own_ && schedule_->is_owner(Rank(i))) post(Rank(i), head, reduced_.part(0, 0));
  }
}

void AllReduce::send_reduced(std::uint32_t index) {
  const Chunk& chunk = schedule_->chunks()[index];
  wire::MessageHead head{.type = kReduced,
                         .generation = generation_,
                         .first = schedule_->step().value(),
                         .second = std::uint64_t{index} << 32};
  const auto hashes = std::as_bytes(hashes_of(chunk));
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (Rank(i) == own_) continue;
    head.type = kReduced;
    post(Rank(i), head, reduced_part(chunk));
    head.type = kHashes;
    const auto posted = links_[i]->post_host(head, hashes, {});
    if (!posted.ok() && !failure_) failure_ = Violation{Rank(i), posted.error()};
  }
}

Buffer AllReduce::at(const Work& work, const Place& place) const {
  const Range sums = schedule_->chunks()[work.chunk].sums;
  if (place.kind == Place::Kind::kOwn) {
    return contributed_[place.index].sums.part(sums.offset, sums.bytes);
  }
  EDL_CHECK(place.kind == Place::Kind::kSlot);
  return slots_.part(slot_offsets_[work.chunk] + place.index * sums.bytes, sums.bytes);
}

std::uint64_t AllReduce::slot_of(const Incoming& share) const {
  return slot_offsets_[share.chunk] + share.slot * schedule_->chunks()[share.chunk].sums.bytes;
}

Buffer AllReduce::reduced_part(const Chunk& chunk) const {
  return reduced_.part(chunk.reduced.offset, chunk.reduced.bytes);
}

std::span<BlockHash> AllReduce::hashes_of(const Chunk& chunk) {
  return std::span(hashes_).subspan(chunk.first_block, chunk.blocks);
}

// The last addition of a chunk goes straight to its place, but for types that are rounded after it.
bool AllReduce::is_direct(const Work& work) const {
  const Element element = schedule_->chunks()[work.chunk].element;
  return work.is_last && sum_element(element) == element;
}

Buffer AllReduce::sum_place(const Work& work) const {
  if (is_direct(work)) return reduced_part(schedule_->chunks()[work.chunk]);
  return at(work, work.sum);
}

void AllReduce::do_work() {
  for (const Work& work : schedule_->work()) {
    if (work.is_last) {
      do_last(work);
    } else {
      const Element element = sum_element(schedule_->chunks()[work.chunk].element);
      adder_.add(element, at(work, work.left), at(work, work.right), at(work, work.sum));
    }
  }
}

// Block by block, so that what was added is hashed while it is in cache.
void AllReduce::do_last(const Work& work) {
  tell_first();
  const Chunk& chunk = schedule_->chunks()[work.chunk];
  if (work.right == Place()) {
    adder_.finish(chunk.element, at(work, work.left), reduced_part(chunk), hashes_of(chunk));
    return chunk_finished(work.chunk);
  }
  const std::uint64_t scale = chunk.sums.bytes / chunk.reduced.bytes;
  const Buffer left = at(work, work.left);
  const Buffer right = at(work, work.right);
  const Buffer sum = sum_place(work);
  std::uint64_t hashed = 0;
  for (std::uint64_t begin = 0; begin < chunk.sums.bytes; begin += kBlockBytes * scale) {
    const std::uint64_t length = std::min(kBlockBytes * scale, chunk.sums.bytes - begin);
    adder_.add(sum_element(chunk.element), left.part(begin, length), right.part(begin, length),
               sum.part(begin, length));
    finish_blocks(work, begin + length, hashed);
  }
  chunk_finished(work.chunk);
}

// Rounds and hashes the blocks that are whole when `done` bytes of sums are there.
void AllReduce::finish_blocks(const Work& work, std::uint64_t done, std::uint64_t& hashed_blocks) {
  const Chunk& chunk = schedule_->chunks()[work.chunk];
  const std::uint64_t scale = chunk.sums.bytes / chunk.reduced.bytes;
  const bool is_whole = done == chunk.sums.bytes;
  const std::uint64_t blocks = is_whole ? chunk.blocks : done / (kBlockBytes * scale);
  if (blocks == hashed_blocks) return;
  const std::uint64_t begin = hashed_blocks * kBlockBytes;
  const std::uint64_t end = is_whole ? chunk.reduced.bytes : blocks * kBlockBytes;
  adder_.finish(chunk.element, sum_place(work).part(begin * scale, (end - begin) * scale),
                reduced_part(chunk).part(begin, end - begin),
                hashes_of(chunk).subspan(hashed_blocks, blocks - hashed_blocks));
  hashed_blocks = blocks;
}

void AllReduce::chunk_finished(std::uint32_t chunk) {
  adder_.then([this, life = life_, now = *life_, chunk] {
    if (*life != now) return;
    send_reduced(chunk);
    schedule_->own_chunk_done(chunk);
    if (!is_inside_) settle();
  });
}

void AllReduce::tell_first() {
  if (told_first_) return;
  told_first_ = true;
  if (events_.first_reduced) events_.first_reduced(schedule_->step());
}

// The last act of every call: tells what came of it.
void AllReduce::settle() {
  is_inside_ = false;
  flush();
  if (failure_) {
    const Violation failure = *std::exchange(failure_, std::nullopt);
    if (events_.failed) events_.failed(failure.by, failure.error);
    return;
  }
  if (told_reduced_ || !schedule_->all_reduced()) return;
  told_reduced_ = true;
  adder_.then([this, life = life_, now = *life_] {
    if (*life == now) tell_reduced();
  });
}

void AllReduce::tell_reduced() {
  if (events_.reduced) events_.reduced(schedule_->step(), step_digest(hashes_));
}

}  // namespace edl::collective
