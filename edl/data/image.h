// A picture as numbers of 8 bits, out of the bytes of a JPEG or PNG file. Which of the two it is,
// its first bytes say, not its name. Everything here is whole numbers: the same file gives the same
// picture on every machine.
#pragma once

#include <cstdint>

#include "edl/base/bytes.h"

namespace edl::data {

struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const ImageSize&) const = default;
};

struct Image {
  ImageSize size{};
  std::uint32_t channels = 3;  // 1: grey, 3: red, green, blue
  Bytes pixels{};              // row by row, the channels of a pixel side by side

  std::size_t row_bytes() const { return std::size_t{size.width} * channels; }
};

constexpr std::uint64_t kPixelsMax = std::uint64_t{64} << 20;

// As the file has it, grey or coloured. Palettes are looked up, transparency is dropped, 16 bits
// are rounded to 8. Refuses CMYK, more than `pixels_max` pixels, and files that are damaged or cut
// off.
Result<Image> decode_image(ConstBytes file, std::uint64_t pixels_max = kPixelsMax);

// Grey from colours is (19595 R + 38470 G + 7471 B + 32768) >> 16; colours from grey are thrice it.
Image with_channels(Image image, std::uint32_t channels);

}  // namespace edl::data
