// The bytes of one libFuzzer run, as numbers and pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "edl/base/bytes.h"

namespace edl::tests {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const std::byte*>(data), size) {}

  bool empty() const { return left_.empty(); }
  ConstBytes rest() const { return left_; }
  std::uint8_t number() {
    if (left_.empty()) return 0;
    const auto value = std::to_integer<std::uint8_t>(left_[0]);
    left_ = left_.subspan(1);
    return value;
  }
  ConstBytes piece(std::size_t length) {
    const ConstBytes out = left_.first(std::min(length, left_.size()));
    left_ = left_.subspan(out.size());
    return out;
  }

 private:
  ConstBytes left_;
};

}  // namespace edl::tests
