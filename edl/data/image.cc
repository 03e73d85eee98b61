#include "edl/data/image.h"

#include <algorithm>
#include <array>

#include "edl/data/jpeg.h"
#include "edl/data/png.h"

namespace edl::data {
namespace {

std::uint32_t number(std::byte byte) { return std::to_integer<std::uint32_t>(byte); }

std::byte grey_of(std::byte red, std::byte green, std::byte blue) {
  constexpr std::uint32_t kHalf = 1 << 15;
  const std::uint32_t sum = 19595 * number(red) + 38470 * number(green) + 7471 * number(blue);
  return std::byte((sum + kHalf) >> 16);
}

}  // namespace

Result<Image> decode_image(ConstBytes file, std::uint64_t pixels_max) {
  if (is_jpeg(file)) return decode_jpeg(file, pixels_max);
  if (is_png(file)) return decode_png(file, pixels_max);
  return Error{Code::kCorrupt, file.empty() ? "is empty" : "is neither JPEG nor PNG"};
}

Image with_channels(Image image, std::uint32_t channels) {
  EDL_CHECK((image.channels == 1 || image.channels == 3) && (channels == 1 || channels == 3));
  if (image.channels == channels) return image;
  Image out{.size = image.size, .channels = channels};
  out.pixels.resize(out.row_bytes() * out.size.height);
  const std::byte* from = image.pixels.data();
  for (std::size_t i = 0; i < out.pixels.size(); i += channels, from += image.channels) {
    if (channels == 1) {
      out.pixels[i] = grey_of(from[0], from[1], from[2]);
    } else {
      std::fill_n(&out.pixels[i], 3, *from);
    }
  }
  return out;
}

}  // namespace edl::data
