// A copy of the training state as it was after a step, so that training goes on while it is written
// or sent. All tensors lie in one block of memory, which the next copy uses again.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edl/checkpoint/state.h"
#include "edl/checkpoint/tensor.h"

namespace edl::checkpoint {

inline constexpr std::string_view kModelPrefix = "model/";
inline constexpr std::string_view kOptimizerPrefix = "optimizer/";
inline constexpr std::string_view kUserPrefix = "user/";
// Whether a tensor of this name is part of the state's hash.
inline bool is_hashed(std::string_view name) { return !name.starts_with(kUserPrefix); }

class StateCopy {
 public:
  StateCopy() = default;
  StateCopy(const StateCopy&) = delete;
  StateCopy& operator=(const StateCopy&) = delete;

  // Memory for a copy of these, in advance: new memory comes page by page, which takes longer than
  // to copy into it.
  void make_room(std::span<const Tensor> tensors);
  // Replaces what was copied before. Every name begins with one of the prefixes. After an error
  // the copy is empty.
  Result<void> take(std::span<const Tensor> tensors, State state);

  // Sorted by name; they point into this copy.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const State& state() const { return state_; }
  void set_state(State state) { state_ = std::move(state); }
  // Those whose names begin with `prefix`, without it: what one file holds.
  std::vector<Tensor> without_prefix(std::string_view prefix) const;
  std::string hash() const;

 private:
  Result<void> check(std::span<const Tensor> tensors) const;

  Bytes block_;
  std::vector<Tensor> tensors_;
  State state_;
};

}  // namespace edl::checkpoint
