// The part of AllReduce that takes what other members send, piece by piece.
#include <algorithm>

#include "edl/base/text.h"
#include "edl/collective/all_reduce.h"

namespace edl::collective {

using model::Rank;

Result<void> AllReduce::on_bulk(Rank from, const wire::Header& header, std::uint64_t offset,
                                ConstBytes piece) {
  if (schedule_ == nullptr || header.generation != generation_) return {};
  EDL_CHECK(from.value() < streams_.size() && from != own_);
  is_inside_ = true;
  Result<void> taken;
  switch (header.type) {
    case kShare:
      taken = take_share(from, header, offset, piece);
      break;
    case kEmptyShare:
      taken = take_empty_share(from, header);
      break;
    case kReduced:
      taken = take_reduced(from, header, offset, piece);
      break;
    case kHashes:
      taken = take_hashes(from, header, offset, piece);
      break;
    default:
      taken = Error{Code::kInvalid, text("rank ", from, " sent bulk data of type ", header.type)};
  }
  is_inside_ = false;
  streams_[from.value()].is_open = taken.ok() && offset + piece.size() < header.payload_bytes;
  if (taken.ok()) settle();
  return taken;
}

Result<void> AllReduce::take_share(Rank from, const wire::Header& header, std::uint64_t offset,
                                   ConstBytes piece) {
  Stream& stream = streams_[from.value()];
  if (offset == 0) {
    EDL_TRY(Incoming share, schedule_->share_begins(from, chunk_head(header)));
    stream = Stream();
    stream.share = share;
    if (share.work && share.work->is_last) tell_first();
  }
  const Incoming share = stream.share;
  if (share.work) {
    add_piece(stream, offset, piece);
  } else {
    adder_.copy_in(piece, slots_.part(slot_of(share) + offset, piece.size()));
  }
  if (offset + piece.size() < header.payload_bytes) return {};
  schedule_->share_ends(share);
  if (share.work && share.work->is_last) {
    chunk_finished(share.chunk);
  } else {
    do_work();
  }
  return {};
}

ByteSpan AllReduce::bulk_place(Rank from, const wire::Header& header, std::uint64_t offset) {
  if (schedule_ == nullptr || header.generation != generation_) return {};
  if (!streams_[from.value()].is_open) return {};
  const std::uint64_t rest = header.payload_bytes - offset;
  if (header.type == kReduced) {
    const Chunk& chunk = schedule_->chunks()[chunk_head(header).chunk];
    return adder_.host_place(reduced_.part(chunk.reduced.offset + offset, rest));
  }
  if (header.type != kShare) return {};
  const Incoming& share = streams_[from.value()].share;
  if (share.work) return {};  // it is added while it comes
  return adder_.host_place(slots_.part(slot_of(share) + offset, rest));
}

Result<void> AllReduce::take_empty_share(Rank from, const wire::Header& header) {
  if (header.payload_bytes != 0 || header.second != 0) {
    return Error{Code::kInvalid, text("rank ", from, " sent an empty share that is not empty")};
  }
  EDL_TRY(schedule_->empty_share(from, model::Step(header.first)));
  do_work();
  return {};
}

// Pieces are cut anywhere; only whole elements are added.
void AllReduce::add_piece(Stream& stream, std::uint64_t offset, ConstBytes piece) {
  const Work& work = *stream.share.work;
  const std::size_t size = element_bytes(sum_element(schedule_->chunks()[work.chunk].element));
  const std::uint64_t end = offset + piece.size();
  if (stream.cut_bytes > 0) {
    const std::size_t length = std::min(size - stream.cut_bytes, piece.size());
    std::copy_n(piece.begin(), length, stream.cut.begin() + stream.cut_bytes);
    stream.cut_bytes += length;
    piece = piece.subspan(length);
    if (stream.cut_bytes < size) return;
    add_elements(work, end - piece.size() - size, ConstBytes(stream.cut).first(size));
    stream.cut_bytes = 0;
  }
  const std::size_t whole = piece.size() / size * size;
  add_elements(work, end - piece.size(), piece.first(whole));
  stream.cut_bytes = piece.size() - whole;
  std::copy_n(piece.begin() + whole, stream.cut_bytes, stream.cut.begin());
  if (work.is_last) finish_blocks(work, end - stream.cut_bytes, stream.hashed_blocks);
}

void AllReduce::add_elements(const Work& work, std::uint64_t offset, ConstBytes piece) {
  if (piece.empty()) return;
  const Element element = sum_element(schedule_->chunks()[work.chunk].element);
  const Buffer sum = sum_place(work).part(offset, piece.size());
  if (work.left == Place()) {
    adder_.add_left(element, piece, at(work, work.right).part(offset, piece.size()), sum);
  } else {
    adder_.add_right(element, at(work, work.left).part(offset, piece.size()), piece, sum);
  }
}

Result<void> AllReduce::take_reduced(Rank from, const wire::Header& header, std::uint64_t offset,
                                     ConstBytes piece) {
  const ChunkHead head = chunk_head(header);
  if (offset == 0) {
    EDL_TRY(schedule_->reduced_begins(from, head));
    tell_first();
  }
  const std::uint64_t begin = schedule_->chunks()[head.chunk].reduced.offset;
  adder_.copy_in(piece, reduced_.part(begin + offset, piece.size()));
  if (offset + piece.size() == header.payload_bytes) schedule_->reduced_ends(head.chunk);
  return {};
}

Result<void> AllReduce::take_hashes(Rank from, const wire::Header& header, std::uint64_t offset,
                                    ConstBytes piece) {
  const ChunkHead head = chunk_head(header);
  if (offset == 0) {
    EDL_TRY(schedule_->hashes_begin(from, head));
  }
  const auto hashes = std::as_writable_bytes(hashes_of(schedule_->chunks()[head.chunk]));
  std::copy(piece.begin(), piece.end(), hashes.begin() + static_cast<std::ptrdiff_t>(offset));
  if (offset + piece.size() == header.payload_bytes) schedule_->hashes_end(head.chunk);
  return {};
}

}  // namespace edl::collective
