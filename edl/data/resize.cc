#include "edl/data/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace edl::data {
namespace {

constexpr int kWeightBits = 22;  // 8 of the pixel and 2 of room beside them make 32

// What one new pixel is made of.
struct Window {
  std::uint32_t first = 0;
  std::vector<std::int32_t> weights{};  // their sum is one, in kWeightBits
};

Window window_at(std::uint32_t place, std::uint32_t before, double scale) {
  const double reach = std::max(scale, 1.0);
  const double center = (place + 0.5) * scale;
  const auto first = static_cast<std::int64_t>(std::max(center - reach + 0.5, 0.0));
  const auto end =
      std::min(static_cast<std::int64_t>(center + reach + 0.5), static_cast<std::int64_t>(before));
  std::vector<double> shares;
  double sum = 0;
  for (std::int64_t i = first; i < end; ++i) {
    const double distance = std::abs((static_cast<double>(i) - center + 0.5) * (1.0 / reach));
    shares.push_back(distance < 1.0 ? 1.0 - distance : 0.0);
    sum += shares.back();
  }
  Window out{.first = static_cast<std::uint32_t>(first)};
  for (double share : shares) {
    if (sum != 0.0) share /= sum;
    out.weights.push_back(static_cast<std::int32_t>(0.5 + share * (1 << kWeightBits)));
  }
  return out;
}

std::vector<Window> windows(std::uint32_t before, std::uint32_t after) {
  const double scale = static_cast<double>(before) / after;
  std::vector<Window> out;
  for (std::uint32_t place = 0; place < after; ++place) {
    out.push_back(window_at(place, before, scale));
  }
  return out;
}

// The weighted sum of what lies `stride` apart.
std::byte weighted(const std::byte* from, std::size_t stride, const Window& window) {
  std::int32_t sum = 1 << (kWeightBits - 1);
  for (const std::int32_t weight : window.weights) {
    sum += std::to_integer<std::int32_t>(*from) * weight;
    from += stride;
  }
  return std::byte(std::clamp(sum >> kWeightBits, 0, 255));
}

Image across(const Image& image, std::uint32_t width) {
  if (image.size.width == width) return image;
  Image out{.size = {width, image.size.height}, .channels = image.channels};
  out.pixels.resize(out.row_bytes() * out.size.height);
  const auto all = windows(image.size.width, width);
  std::byte* to = out.pixels.data();
  for (std::size_t y = 0; y < image.size.height; ++y) {
    const std::byte* const row = &image.pixels[y * image.row_bytes()];
    for (const Window& window : all) {
      for (std::size_t c = 0; c < image.channels; ++c) {
        *to++ =
            weighted(row + std::size_t{window.first} * image.channels + c, image.channels, window);
      }
    }
  }
  return out;
}

Image down(const Image& image, std::uint32_t height) {
  if (image.size.height == height) return image;
  Image out{.size = {image.size.width, height}, .channels = image.channels};
  out.pixels.resize(out.row_bytes() * out.size.height);
  std::byte* to = out.pixels.data();
  for (const Window& window : windows(image.size.height, height)) {
    const std::byte* const column = &image.pixels[window.first * image.row_bytes()];
    for (std::size_t x = 0; x < image.row_bytes(); ++x) {
      *to++ = weighted(column + x, image.row_bytes(), window);
    }
  }
  return out;
}

}  // namespace

Image resized(const Image& image, const ImageSize& size) {
  EDL_CHECK(size.width > 0 && size.height > 0 && !image.pixels.empty());
  return down(across(image, size.width), size.height);
}

}  // namespace edl::data
