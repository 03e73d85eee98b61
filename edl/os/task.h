// A piece of work, and the handle of one that will run later.
#pragma once

#include <functional>
#include <memory>

namespace edl::os {

using Task = std::function<void()>;

// Something that will call back. Destroying it cancels it: the callback is then never called, and
// what it holds is released. A callback may destroy its own Pending.
class Pending {
 public:
  class Operation {
   public:
    virtual ~Operation() = default;  // cancels
  };

  Pending() = default;
  explicit Pending(std::unique_ptr<Operation> operation) : operation_(std::move(operation)) {}

  void cancel() { operation_.reset(); }

 private:
  std::unique_ptr<Operation> operation_;
};

}  // namespace edl::os
