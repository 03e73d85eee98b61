#include "edl/data/png.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr png_alloc_size_t kChunkBytesMax = 8 << 20;  // of text and profiles, which are not used
constexpr png_uint_32 kSideMax = 1 << 20;

// libpng leaves a call that fails by a jump. So nothing that has a destructor may be made between
// the `setjmp` and the calls below it: what needs one is made before, and kept here.
struct Decoder {
  png_structp reader = nullptr;
  png_infop head = nullptr;
  ConstBytes rest{};
  std::array<char, 128> message{};
  std::vector<png_bytep> rows{};
};

void on_error(png_structp reader, png_const_charp message) {
  auto& decoder = *static_cast<Decoder*>(::png_get_error_ptr(reader));
  std::snprintf(decoder.message.data(), decoder.message.size(), "%s", message);
  ::png_longjmp(reader, 1);
}
void on_warning(png_structp, png_const_charp) {}  // about what is not used

void on_read(png_structp reader, png_bytep into, std::size_t bytes) {
  auto& decoder = *static_cast<Decoder*>(::png_get_io_ptr(reader));
  if (bytes > decoder.rest.size()) ::png_error(reader, "the file ends too early");
  std::copy_n(reinterpret_cast<png_const_bytep>(decoder.rest.data()), bytes, into);
  decoder.rest = decoder.rest.subspan(bytes);
}

bool read_head(Decoder& decoder) {
  if (setjmp(png_jmpbuf(decoder.reader)) != 0) return false;  // NOLINT
  ::png_set_user_limits(decoder.reader, kSideMax, kSideMax);
  ::png_set_chunk_malloc_max(decoder.reader, kChunkBytesMax);
  ::png_set_read_fn(decoder.reader, &decoder, on_read);
  ::png_read_info(decoder.reader, decoder.head);
  // Palettes become colours, 1 to 4 bits of grey become 8, and so do 16, rounded.
  ::png_set_palette_to_rgb(decoder.reader);
  ::png_set_expand_gray_1_2_4_to_8(decoder.reader);
  ::png_set_scale_16(decoder.reader);
  ::png_set_strip_alpha(decoder.reader);
  ::png_set_interlace_handling(decoder.reader);
  ::png_read_update_info(decoder.reader, decoder.head);
  return true;
}

bool read_rows(Decoder& decoder) {
  if (setjmp(png_jmpbuf(decoder.reader)) != 0) return false;  // NOLINT
  ::png_read_image(decoder.reader, decoder.rows.data());
  ::png_read_end(decoder.reader, nullptr);
  return true;
}

Error damaged(const Decoder& decoder) {
  return {Code::kCorrupt, text("is damaged or cut off: ", decoder.message.data())};
}

Result<Image> decode(Decoder& decoder, std::uint64_t pixels_max) {
  if (!read_head(decoder)) return damaged(decoder);
  Image out{.size = {::png_get_image_width(decoder.reader, decoder.head),
                     ::png_get_image_height(decoder.reader, decoder.head)}};
  const std::uint64_t pixels = std::uint64_t{out.size.width} * out.size.height;
  if (pixels > pixels_max) {
    return Error{Code::kExhausted, text("has ", out.size.width, " x ", out.size.height,
                                        " pixels; the limit is ", pixels_max, " pixels")};
  }
  out.channels = ::png_get_channels(decoder.reader, decoder.head);
  EDL_CHECK((out.channels == 1 || out.channels == 3) &&
            ::png_get_rowbytes(decoder.reader, decoder.head) == out.row_bytes());
  out.pixels.resize(out.row_bytes() * out.size.height);
  for (std::size_t y = 0; y < out.size.height; ++y) {
    decoder.rows.push_back(reinterpret_cast<png_bytep>(&out.pixels[y * out.row_bytes()]));
  }
  if (!read_rows(decoder)) return damaged(decoder);
  return out;
}

}  // namespace

bool is_png(ConstBytes file) {
  static constexpr std::string_view kBegin = "\x89PNG\r\n\x1a\n";
  return text_of(file).starts_with(kBegin);
}

Result<Image> decode_png(ConstBytes file, std::uint64_t pixels_max) {
  Decoder decoder{.rest = file};
  decoder.reader = ::png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
  EDL_CHECK(decoder.reader != nullptr, "no memory for libpng");
  decoder.head = ::png_create_info_struct(decoder.reader);
  EDL_CHECK(decoder.head != nullptr, "no memory for libpng");
  auto image = decode(decoder, pixels_max);
  ::png_destroy_read_struct(&decoder.reader, &decoder.head, nullptr);
  return image;
}

}  // namespace edl::data
