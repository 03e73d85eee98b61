// IDX, the format of MNIST and of what was made like it: two zero bytes, the type of the numbers,
// the number of dimensions, their sizes and the numbers, all big-endian.
#pragma once

#include "edl/data/array.h"

namespace edl::data {

// Borrows the bytes.
Result<Array> parse_idx(ConstBytes file);

}  // namespace edl::data
