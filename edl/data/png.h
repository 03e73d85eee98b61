// PNG, by libpng.
#pragma once

#include "edl/data/image.h"

namespace edl::data {

bool is_png(ConstBytes file);
Result<Image> decode_png(ConstBytes file, std::uint64_t pixels_max);

}  // namespace edl::data
