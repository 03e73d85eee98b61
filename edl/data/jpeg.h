// JPEG, by libjpeg.
#pragma once

#include "edl/data/image.h"

namespace edl::data {

bool is_jpeg(ConstBytes file);
Result<Image> decode_jpeg(ConstBytes file, std::uint64_t pixels_max);

}  // namespace edl::data
