// Pictures in another size: each new pixel is the mean of those below it, weighted by a triangle
// that is two old pixels wide, or two new ones where these are larger ("bilinear, antialiased").
// First across, then down; weights are whole numbers of 22 bits and each pass rounds to 8 bits.
// These are the bits of Pillow's Image.resize with BILINEAR, which torchvision's Resize calls.
#pragma once

#include "edl/data/image.h"

namespace edl::data {

// Both sizes are at least 1 x 1.
Image resized(const Image& image, const ImageSize& size);

}  // namespace edl::data
