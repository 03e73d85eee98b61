// Handwritten digits, 8 x 8 pixels each; built into the program. See README.md for their source.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "edl/base/result.h"

namespace edl::train {

struct Digit {
  static constexpr std::size_t kPixels = 64;
  std::array<float, kPixels> pixels{};  // from 0 to 1
  std::uint8_t label = 0;
};

// Those of the training set, or of the test set (every fifth), in order.
std::vector<Digit> training_digits();
std::vector<Digit> test_digits();

// Of text as in digits.txt.
Result<std::vector<Digit>> parse_digits(std::string_view text);

}  // namespace edl::train
