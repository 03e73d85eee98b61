// Bulk data between two processes of one machine: the sender lays it into memory of its own that
// the receiver sees, and only says where it lies. The memory is a ring; the receiver tells how far
// it has taken it. Format and order: docs/reference/wire.md.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "edl/base/json.h"
#include "edl/os/system.h"

namespace edl::wire {

// Where bytes lie: `position` counts all that the ring ever held, with what was left out at its
// end so that no run of bytes goes around it.
struct PlacedBytes {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
  bool operator==(const PlacedBytes&) const = default;
};
inline constexpr std::size_t kPlacedBytesBytes = 16;
std::array<std::byte, kPlacedBytesBytes> encode(const PlacedBytes& placed);
Result<PlacedBytes> decode_placed(ConstBytes bytes);

// What the sender knows of a ring. Plain state.
class Ring {
 public:
  explicit Ring(std::uint64_t bytes) : bytes_(bytes) {}

  // Nothing when the receiver has not taken enough yet. Always something once it has taken all but
  // a quarter, for up to a quarter.
  std::optional<std::uint64_t> place(std::uint64_t bytes);
  // All before `position` is free again; false when that was never placed.
  bool take(std::uint64_t position);
  std::uint64_t offset(std::uint64_t position) const { return position % bytes_; }
  std::uint64_t placed() const { return placed_; }

 private:
  std::uint64_t bytes_;
  std::uint64_t placed_ = 0;
  std::uint64_t taken_ = 0;
};

// How much memory a process lends to its connections; shared by them.
struct SharedMemoryBudget {
  std::uint64_t ring_bytes = 4 << 20;
  std::uint64_t placed_bytes_min = 64 << 10;  // less goes by the stream, which is as quick
  std::uint64_t bytes_left = 64 << 20;
};

// The sender's side. Memory comes from the budget and goes back to it.
class LentMemory {
 public:
  static Result<std::unique_ptr<LentMemory>> make(os::System& system,
                                                  std::shared_ptr<SharedMemoryBudget> budget);
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  // For the other end: {"place", "check"}.
  Json invitation() const;
  // The other end sees it.
  void mapped() { is_mapped_ = true; }
  bool takes(std::size_t bytes) const;
  // Copies them; nothing when there is no room now.
  std::optional<PlacedBytes> put(ConstBytes bytes);
  bool take(std::uint64_t position) { return ring_.take(position); }
  std::uint64_t placed() const { return ring_.placed(); }

 private:
  LentMemory(std::unique_ptr<os::Memory> memory, std::shared_ptr<SharedMemoryBudget> budget,
             ConstBytes check);

  std::unique_ptr<os::Memory> memory_;
  const std::shared_ptr<SharedMemoryBudget> budget_;
  Ring ring_;
  bool is_mapped_ = false;
};

// The receiver's side.
class BorrowedMemory {
 public:
  // Refuses memory that is not the one that was meant.
  static Result<std::unique_ptr<BorrowedMemory>> find(os::System& system, const Json& invitation);

  // Invalid when nothing can lie there.
  Result<ConstBytes> at(const PlacedBytes& placed) const;
  // They are not needed any more; answers what is to be told to the sender now and then.
  std::optional<std::uint64_t> done(const PlacedBytes& placed);

 private:
  explicit BorrowedMemory(std::unique_ptr<os::Memory> memory) : memory_(std::move(memory)) {}
  ConstBytes ring() const;

  std::unique_ptr<os::Memory> memory_;
  std::uint64_t told_ = 0;
};

}  // namespace edl::wire
