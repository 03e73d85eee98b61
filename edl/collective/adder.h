// Arithmetic on the memory of one device. Operations run one after the other in the order in which
// they were asked for, at once or later; `then` tells when. What an operation reads on the device
// stays as it is until then; host bytes are taken before the call returns.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "edl/collective/buffer.h"
#include "edl/collective/digest.h"
#include "edl/collective/elements.h"

namespace edl::collective {

class Adder {
 public:
  virtual ~Adder() = default;

  // Memory of the device, 64-byte aligned; it ends with the adder or with the next `room`.
  virtual Buffer room(std::uint64_t bytes) = 0;

  virtual void copy_in(ConstBytes from, const Buffer& to) = 0;
  // The same memory, where the host may write it itself now, with copy_in of it afterwards; empty
  // where only copy_in can.
  virtual ByteSpan host_place(const Buffer& /*to*/) { return {}; }
  // sum = left + right, in this order; `element` is its own sum_element. `sum` may be one of them.
  virtual void add(Element element, const Buffer& left, const Buffer& right, const Buffer& sum) = 0;
  // The same with one operand from the host.
  virtual void add_left(Element element, ConstBytes left, const Buffer& right,
                        const Buffer& sum) = 0;
  virtual void add_right(Element element, const Buffer& left, ConstBytes right,
                         const Buffer& sum) = 0;
  // `reduced` = `sums` rounded to `element`, where that is another type; both may be the same
  // memory where it is not. Then the hash of each block of `reduced`, which begins with one.
  virtual void finish(Element element, const Buffer& sums, const Buffer& reduced,
                      std::span<BlockHash> hashes) = 0;

  // Calls `done` on the loop's thread when all that was asked for before is done; that may be
  // before this returns.
  virtual void then(std::function<void()> done) = 0;
};

// On the CPU, at once.
class HostAdder final : public Adder {
 public:
  Buffer room(std::uint64_t bytes) override;
  void copy_in(ConstBytes from, const Buffer& to) override;
  ByteSpan host_place(const Buffer& to) override { return {to.address(), to.bytes()}; }
  void add(Element element, const Buffer& left, const Buffer& right, const Buffer& sum) override;
  void add_left(Element element, ConstBytes left, const Buffer& right, const Buffer& sum) override;
  void add_right(Element element, const Buffer& left, ConstBytes right, const Buffer& sum) override;
  void finish(Element element, const Buffer& sums, const Buffer& reduced,
              std::span<BlockHash> hashes) override;
  void then(std::function<void()> done) override { done(); }

 private:
  std::unique_ptr<std::byte[]> room_;  // as it comes: what nobody writes to takes no memory
  std::uint64_t room_bytes_ = 0;
};

}  // namespace edl::collective
