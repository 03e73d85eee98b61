#include "edl/data/jpeg.h"

#include <array>
#include <csetjmp>
#include <cstdio>
// libjpeg's headers need those above, and this order.
#include <jpeglib.h>
// Behind it.
#include <jerror.h>

#include "edl/base/text.h"

namespace edl::data {
namespace {

// A picture is sent in ten scans or so; thousands only keep a reader busy.
constexpr int kScansMax = 200;

// libjpeg leaves a call that fails by a jump. So nothing that has a destructor may be made between
// the `setjmp` and the calls below it: what needs one is made before, and kept here.
struct Decoder {
  jpeg_decompress_struct picture{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  bool is_damaged = false;  // libjpeg made up what was missing
};

Decoder& decoder_of(j_common_ptr picture) { return *static_cast<Decoder*>(picture->client_data); }

[[noreturn]] void on_error(j_common_ptr picture) {
  Decoder& decoder = decoder_of(picture);
  decoder.errors.format_message(picture, decoder.message.data());
  std::longjmp(decoder.back, 1);  // NOLINT: it is how libjpeg is left
}

// Some files carry bytes that belong to nothing, which does no harm.
bool makes_pixels_up(int code) {
  return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
         code == JWRN_ARITH_BAD_CODE || code == JWRN_MUST_RESYNC;
}

void on_message(j_common_ptr picture, int level) {
  Decoder& decoder = decoder_of(picture);
  if (level >= 0 || decoder.is_damaged || !makes_pixels_up(picture->err->msg_code)) return;
  decoder.is_damaged = true;
  decoder.errors.format_message(picture, decoder.message.data());
}

void on_progress(j_common_ptr picture) {
  Decoder& decoder = decoder_of(picture);
  if (decoder.picture.input_scan_number <= kScansMax) return;
  std::snprintf(decoder.message.data(), decoder.message.size(), "more than %d scans", kScansMax);
  std::longjmp(decoder.back, 1);  // NOLINT
}

void prepare(Decoder& decoder) {
  decoder.picture.err = ::jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.progress.progress_monitor = on_progress;
  decoder.picture.client_data = &decoder;
}

bool read_head(Decoder& decoder, ConstBytes file) {
  if (setjmp(decoder.back) != 0) return false;  // NOLINT
  ::jpeg_create_decompress(&decoder.picture);
  decoder.picture.progress = &decoder.progress;
  ::jpeg_mem_src(&decoder.picture, reinterpret_cast<const unsigned char*>(file.data()),
                 file.size());
  ::jpeg_read_header(&decoder.picture, TRUE);
  return true;
}

// `out` has room for all rows.
bool read_rows(Decoder& decoder, Image& out) {
  if (setjmp(decoder.back) != 0) return false;  // NOLINT
  // The transform whose bits do not depend on the processor.
  decoder.picture.dct_method = JDCT_ISLOW;
  decoder.picture.do_fancy_upsampling = TRUE;
  ::jpeg_start_decompress(&decoder.picture);
  auto* row = reinterpret_cast<JSAMPROW>(out.pixels.data());
  while (decoder.picture.output_scanline < decoder.picture.output_height) {
    ::jpeg_read_scanlines(&decoder.picture, &row, 1);
    row += out.row_bytes();
  }
  ::jpeg_finish_decompress(&decoder.picture);
  return true;
}

Result<void> choose_colours(jpeg_decompress_struct& picture) {
  switch (picture.jpeg_color_space) {
    case JCS_GRAYSCALE:
      picture.out_color_space = JCS_GRAYSCALE;
      return {};
    case JCS_YCbCr:
    case JCS_RGB:
      picture.out_color_space = JCS_RGB;
      return {};
    case JCS_CMYK:
    case JCS_YCCK:
      return Error{Code::kInvalid,
                   "is a JPEG in CMYK, the colours of printers; save it in RGB or grey"};
    default:
      return Error{Code::kInvalid, text("is a JPEG of ", picture.num_components,
                                        " components of unknown colours; save it in RGB or grey")};
  }
}

Error damaged(const Decoder& decoder) {
  return {Code::kCorrupt, text("is damaged or cut off: ", decoder.message.data())};
}

Result<Image> decode(Decoder& decoder, ConstBytes file, std::uint64_t pixels_max) {
  if (!read_head(decoder, file)) return damaged(decoder);
  jpeg_decompress_struct& picture = decoder.picture;
  EDL_TRY(choose_colours(picture));
  Image out{.size = {picture.image_width, picture.image_height}};
  const std::uint64_t pixels = std::uint64_t{out.size.width} * out.size.height;
  if (pixels > pixels_max) {
    return Error{Code::kExhausted, text("has ", out.size.width, " x ", out.size.height,
                                        " pixels; the limit is ", pixels_max, " pixels")};
  }
  out.channels = picture.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  out.pixels.resize(out.row_bytes() * out.size.height);
  if (!read_rows(decoder, out) || decoder.is_damaged) return damaged(decoder);
  return out;
}

}  // namespace

bool is_jpeg(ConstBytes file) {
  return file.size() >= 3 && file[0] == std::byte{0xFF} && file[1] == std::byte{0xD8} &&
         file[2] == std::byte{0xFF};
}

Result<Image> decode_jpeg(ConstBytes file, std::uint64_t pixels_max) {
  Decoder decoder;
  prepare(decoder);
  auto image = decode(decoder, file, pixels_max);
  ::jpeg_destroy_decompress(&decoder.picture);
  return image;
}

}  // namespace edl::data
