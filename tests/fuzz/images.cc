// Pictures that a data set is made of, from anyone: JPEG and PNG.
#include "edl/base/check.h"
#include "edl/data/image.h"
#include "edl/data/resize.h"
#include "tests/fuzz/input.h"

using namespace edl;

namespace {

constexpr std::uint64_t kPixelsMax = 1 << 16;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const auto image = data::decode_image(input.rest(), kPixelsMax);
  if (!image.ok()) {
    EDL_CHECK(!image.error().message.empty());
    return 0;
  }
  EDL_CHECK(image->pixels.size() == image->row_bytes() * image->size.height);
  EDL_CHECK(std::uint64_t{image->size.width} * image->size.height <= kPixelsMax);
  const data::Image small =
      data::resized(data::with_channels(*image, size % 2 == 0 ? 1 : 3), {7, 5});
  EDL_CHECK(small.pixels.size() == 7 * 5 * small.channels);
  return 0;
}
