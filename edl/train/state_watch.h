// A look at the state that finds members whose state is not that of the others: after each step one
// block of it is hashed, in turn, and what comes of sixteen steps is a mark to be compared.
#pragma once

#include <optional>
#include <vector>

#include "edl/membership/agreement.h"
#include "edl/train/trainee.h"

namespace edl::train {

// Of the thread that changes the state.
class StateBlocks {
 public:
  // Of the block whose turn it is after this step, the same one on every member.
  std::uint64_t hash(Trainee& trainee, model::Step step);

 private:
  std::vector<ConstBytes> blocks_;  // found once: the state stays where it is
};

// Of the loop.
class StateWatch {
 public:
  static constexpr std::uint64_t kWindow = 16;  // steps

  void add(model::Step step, std::uint64_t block);
  // The newest mark, once. Only of steps that were all looked at here.
  std::optional<membership::StateMark> take();

 private:
  membership::StateMark sum_;  // of the present window, up to the last step
  bool is_whole_ = false;
  std::optional<membership::StateMark> mark_;
};

}  // namespace edl::train
