// For tests: the bytes of JPEG and PNG files of all kinds, written by the libraries themselves.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
// libjpeg's header needs <cstdio>.
#include <jpeglib.h>
#include <png.h>

#include "edl/base/check.h"
#include "edl/data/image.h"

namespace edl::data {

// Some picture, always the same.
inline Image pattern(ImageSize size, std::uint32_t channels) {
  Image out{.size = size, .channels = channels};
  for (std::uint32_t y = 0; y < size.height; ++y) {
    for (std::uint32_t x = 0; x < size.width; ++x) {
      for (std::uint32_t c = 0; c < channels; ++c) {
        out.pixels.push_back(std::byte((x * 37 + y * 101 + c * 53 + x * y * 7) % 256));
      }
    }
  }
  return out;
}

// One that JPEG keeps nearly as it is.
inline Image slope(ImageSize size, std::uint32_t channels) {
  Image out = pattern(size, channels);
  for (std::size_t i = 0; i < out.pixels.size(); ++i) {
    const std::size_t x = i % out.row_bytes() / channels;
    out.pixels[i] = std::byte(x * 255 / size.width);
  }
  return out;
}

struct PngKind {
  int colours = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  int interlace = PNG_INTERLACE_NONE;
  std::vector<png_color> palette{};
};

// `rows`: the bytes of all rows, one behind the other, as PNG has them.
inline std::string png_bytes(ImageSize size, const PngKind& kind, const std::string& rows) {
  std::string out;
  png_structp writer = ::png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop head = ::png_create_info_struct(writer);
  ::png_set_write_fn(
      writer, &out,
      [](png_structp w, png_bytep bytes, std::size_t count) {
        static_cast<std::string*>(::png_get_io_ptr(w))
            ->append(reinterpret_cast<const char*>(bytes), count);
      },
      [](png_structp) {});
  ::png_set_IHDR(writer, head, size.width, size.height, kind.bits, kind.colours, kind.interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty()) {
    ::png_set_PLTE(writer, head, kind.palette.data(), static_cast<int>(kind.palette.size()));
  }
  ::png_write_info(writer, head);
  const std::size_t row_bytes = ::png_get_rowbytes(writer, head);
  EDL_CHECK(rows.size() == row_bytes * size.height);
  std::string copy = rows;
  std::vector<png_bytep> starts;
  for (std::size_t y = 0; y < size.height; ++y) {
    starts.push_back(reinterpret_cast<png_bytep>(copy.data()) + y * row_bytes);
  }
  ::png_write_image(writer, starts.data());
  ::png_write_end(writer, head);
  ::png_destroy_write_struct(&writer, &head);
  return out;
}

inline std::string png_bytes(const Image& image) {
  return png_bytes(image.size,
                   {.colours = image.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB},
                   std::string(text_of(image.pixels)));
}

inline std::string jpeg_bytes(ImageSize size, J_COLOR_SPACE colours, const std::string& rows,
                              bool is_progressive = false) {
  jpeg_compress_struct picture{};
  jpeg_error_mgr errors{};
  picture.err = ::jpeg_std_error(&errors);
  ::jpeg_create_compress(&picture);
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
  ::jpeg_mem_dest(&picture, &bytes, &count);
  picture.image_width = size.width;
  picture.image_height = size.height;
  picture.input_components = colours == JCS_GRAYSCALE ? 1 : colours == JCS_CMYK ? 4 : 3;
  picture.in_color_space = colours;
  ::jpeg_set_defaults(&picture);
  ::jpeg_set_quality(&picture, 95, TRUE);
  if (is_progressive) ::jpeg_simple_progression(&picture);
  ::jpeg_start_compress(&picture, TRUE);
  std::string copy = rows;
  const std::size_t row_bytes = std::size_t{size.width} * picture.input_components;
  while (picture.next_scanline < size.height) {
    auto* row = reinterpret_cast<JSAMPROW>(copy.data()) + picture.next_scanline * row_bytes;
    ::jpeg_write_scanlines(&picture, &row, 1);
  }
  ::jpeg_finish_compress(&picture);
  std::string out(reinterpret_cast<const char*>(bytes), count);
  ::jpeg_destroy_compress(&picture);
  std::free(bytes);
  return out;
}

inline std::string jpeg_bytes(const Image& image, bool is_progressive = false) {
  return jpeg_bytes(image.size, image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB,
                    std::string(text_of(image.pixels)), is_progressive);
}

}  // namespace edl::data
