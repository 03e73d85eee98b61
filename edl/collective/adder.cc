#include "edl/collective/adder.h"

#include <algorithm>

namespace edl::collective {
namespace {

ByteSpan memory(const Buffer& buffer) { return {buffer.address(), buffer.bytes()}; }

}  // namespace

Buffer HostAdder::room(std::uint64_t bytes) {
  if (room_bytes_ < bytes + kAlignment) {
    room_bytes_ = bytes + kAlignment;
    room_ = std::make_unique_for_overwrite<std::byte[]>(room_bytes_);
  }
  void* aligned = room_.get();
  std::size_t left = room_bytes_;
  EDL_CHECK(std::align(kAlignment, bytes, aligned, left) != nullptr);
  return Buffer(ByteSpan(static_cast<std::byte*>(aligned), bytes));
}

void HostAdder::copy_in(ConstBytes from, const Buffer& to) {
  EDL_CHECK(from.size() == to.bytes());
  if (!from.empty() && from.data() != to.address())
    std::memcpy(to.address(), from.data(), from.size());
}

void HostAdder::add(Element element, const Buffer& left, const Buffer& right, const Buffer& sum) {
  collective::add(element, memory(left), memory(right), memory(sum));
}

void HostAdder::add_left(Element element, ConstBytes left, const Buffer& right, const Buffer& sum) {
  collective::add(element, left, memory(right), memory(sum));
}

void HostAdder::add_right(Element element, const Buffer& left, ConstBytes right,
                          const Buffer& sum) {
  collective::add(element, memory(left), right, memory(sum));
}

void HostAdder::finish(Element element, const Buffer& sums, const Buffer& reduced,
                       std::span<BlockHash> hashes) {
  const std::uint64_t scale = sums.bytes() / std::max<std::uint64_t>(reduced.bytes(), 1);
  std::uint64_t at = 0;
  for (BlockHash& hash : hashes) {
    const Buffer block = reduced.part(at, std::min(kBlockBytes, reduced.bytes() - at));
    const Buffer from = sums.part(at * scale, block.bytes() * scale);
    if (sum_element(element) != element) {
      narrow(element, memory(from), memory(block));
    } else if (from.address() != block.address()) {
      std::memcpy(block.address(), from.address(), block.bytes());
    }
    hash = block_hash(memory(block));
    at += block.bytes();
  }
  EDL_CHECK(at == reduced.bytes());
}

}  // namespace edl::collective
