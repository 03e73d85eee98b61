// NPY, what numpy.save writes: a magic, a version, and a Python dictionary that tells type, order
// and shape. Versions 1 to 3; little-endian numbers in C order only.
#pragma once

#include "edl/data/array.h"

namespace edl::data {

// Borrows the bytes. What is not read is refused with the numpy call that writes it readably.
Result<Array> parse_npy(ConstBytes file);

}  // namespace edl::data
