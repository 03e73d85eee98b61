#include "edl/wire/shared_bulk.h"

#include <algorithm>
#include <cstring>

#include "edl/base/text.h"

namespace edl::wire {
namespace {

// What the memory begins with: random bytes, which prove that it is the one that was meant; then
// the ring.
constexpr std::size_t kCheckBytes = 32;
constexpr std::size_t kRingAt = 4096;
constexpr std::uint64_t kMemoryBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kShareAtOnce = 4;  // of a ring: in how many parts it is taken at least

}  // namespace

std::array<std::byte, kPlacedBytesBytes> encode(const PlacedBytes& placed) {
  std::array<std::byte, kPlacedBytesBytes> bytes{};
  store_int(bytes.data(), placed.position);
  store_int(bytes.data() + 8, placed.bytes);
  return bytes;
}

Result<PlacedBytes> decode_placed(ConstBytes bytes) {
  if (bytes.size() != kPlacedBytesBytes) {
    return Error{Code::kInvalid, text("a place of ", bytes.size(), " bytes in shared memory")};
  }
  return PlacedBytes{load_int<std::uint64_t>(bytes.data()),
                     load_int<std::uint64_t>(bytes.data() + 8)};
}

std::optional<std::uint64_t> Ring::place(std::uint64_t bytes) {
  std::uint64_t position = placed_;
  const std::uint64_t to_the_end = bytes_ - offset(position);
  if (bytes > to_the_end) position += to_the_end;
  if (position + bytes - taken_ > bytes_) return std::nullopt;
  placed_ = position + bytes;
  return position;
}

bool Ring::take(std::uint64_t position) {
  if (position < taken_ || position > placed_) return false;
  taken_ = position;
  return true;
}

LentMemory::LentMemory(std::unique_ptr<os::Memory> memory,
                       std::shared_ptr<SharedMemoryBudget> budget, ConstBytes check)
    : memory_(std::move(memory)), budget_(std::move(budget)), ring_(budget_->ring_bytes) {
  budget_->bytes_left -= budget_->ring_bytes;
  std::copy(check.begin(), check.end(), memory_->writable().begin());
}

LentMemory::~LentMemory() { budget_->bytes_left += budget_->ring_bytes; }

Result<std::unique_ptr<LentMemory>> LentMemory::make(os::System& system,
                                                     std::shared_ptr<SharedMemoryBudget> budget) {
  if (budget->bytes_left < budget->ring_bytes) {
    return Error{Code::kExhausted, "all memory that may be shared is in use"};
  }
  EDL_TRY(auto memory, system.make_memory(kRingAt + budget->ring_bytes));
  std::array<std::byte, kCheckBytes> check{};
  system.fill_random(check);
  return std::unique_ptr<LentMemory>(new LentMemory(std::move(memory), std::move(budget), check));
}

Json LentMemory::invitation() const {
  return {{"place", memory_->place()}, {"check", hex(memory_->bytes().first(kCheckBytes))}};
}

bool LentMemory::takes(std::size_t bytes) const {
  return is_mapped_ && bytes >= budget_->placed_bytes_min &&
         bytes <= budget_->ring_bytes / kShareAtOnce;
}

std::optional<PlacedBytes> LentMemory::put(ConstBytes bytes) {
  const auto position = ring_.place(bytes.size());
  if (!position) return std::nullopt;
  std::memcpy(memory_->writable().data() + kRingAt + ring_.offset(*position), bytes.data(),
              bytes.size());
  return PlacedBytes{*position, bytes.size()};
}

Result<std::unique_ptr<BorrowedMemory>> BorrowedMemory::find(os::System& system,
                                                             const Json& invitation) {
  JsonReader in(invitation, "memory");
  std::string place;
  std::string check;
  in.read("place", place);
  in.read("check", check);
  EDL_TRY(in.finish());
  EDL_TRY(auto memory, system.find_memory(place));
  const ConstBytes bytes = memory->bytes();
  if (bytes.size() <= kRingAt || bytes.size() > kMemoryBytesMax ||
      hex(bytes.first(kCheckBytes)) != check) {
    return Error{Code::kInvalid, text("the memory at ", place, " is another one")};
  }
  return std::unique_ptr<BorrowedMemory>(new BorrowedMemory(std::move(memory)));
}

ConstBytes BorrowedMemory::ring() const { return memory_->bytes().subspan(kRingAt); }

Result<ConstBytes> BorrowedMemory::at(const PlacedBytes& placed) const {
  const std::uint64_t offset = placed.position % ring().size();
  if (placed.bytes > ring().size() - offset || placed.position < told_) {
    return Error{Code::kInvalid, text(placed.bytes, " bytes at ", placed.position,
                                      " of shared memory, where nothing can lie")};
  }
  return ring().subspan(offset, placed.bytes);
}

std::optional<std::uint64_t> BorrowedMemory::done(const PlacedBytes& placed) {
  const std::uint64_t taken = placed.position + placed.bytes;
  if (taken - told_ < ring().size() / kShareAtOnce) return std::nullopt;
  return told_ = taken;
}

}  // namespace edl::wire
