#include "edl/data/image.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <cmath>

#include "edl/base/text.h"
#include "edl/data/image_bytes_test.h"
#include "edl/data/image_list.h"
#include "edl/data/resize.h"

namespace edl::data {
namespace {

Result<Image> decoded(const std::string& file, std::uint64_t pixels_max = kPixelsMax) {
  return decode_image(bytes_of(file), pixels_max);
}
std::string refusal(const std::string& file, std::uint64_t pixels_max = kPixelsMax) {
  const auto image = decoded(file, pixels_max);
  return image.ok() ? "" : image.error().message;
}
std::vector<int> numbers(const Image& image) {
  std::vector<int> out;
  for (const std::byte byte : image.pixels) out.push_back(std::to_integer<int>(byte));
  return out;
}
// The largest difference between two pictures of one size.
int distance(const Image& a, const Image& b) {
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.channels, b.channels);
  int most = 0;
  const auto as = numbers(a);
  const auto bs = numbers(b);
  for (std::size_t i = 0; i < as.size(); ++i) most = std::max(most, std::abs(as[i] - bs[i]));
  return most;
}

TEST(Png, colours_and_grey_come_as_they_were_written) {
  for (const std::uint32_t channels : {1U, 3U}) {
    const Image image = pattern({13, 9}, channels);
    const Image read = decoded(png_bytes(image)).value();
    EXPECT_EQ(read.size, (ImageSize{13, 9}));
    EXPECT_EQ(read.channels, channels);
    EXPECT_EQ(read.pixels, image.pixels);
  }
}

TEST(Png, interlaced_rows_are_put_together) {
  const Image image = pattern({13, 9}, 3);
  const auto file =
      png_bytes(image.size, {.interlace = PNG_INTERLACE_ADAM7}, std::string(text_of(image.pixels)));
  EXPECT_EQ(decoded(file).value().pixels, image.pixels);
}

TEST(Png, sixteen_bits_are_rounded_to_eight) {
  // 0, 127, 129, 65535 of 65535.
  const std::string rows{"\x00\x00\x00\x7F\x00\x81\xFF\xFF", 8};
  const auto file = png_bytes({4, 1}, {.colours = PNG_COLOR_TYPE_GRAY, .bits = 16}, rows);
  EXPECT_EQ(numbers(decoded(file).value()), (std::vector<int>{0, 0, 1, 255}));
}

TEST(Png, a_palette_is_looked_up) {
  const PngKind kind{.colours = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {40, 50, 60}}};
  const auto file = png_bytes({2, 1}, kind, std::string("\1\0", 2));
  EXPECT_EQ(numbers(decoded(file).value()), (std::vector<int>{40, 50, 60, 1, 2, 3}));
}

TEST(Png, one_bit_of_grey_is_black_or_white) {
  const auto file =
      png_bytes({3, 1}, {.colours = PNG_COLOR_TYPE_GRAY, .bits = 1}, std::string("\xA0", 1));
  EXPECT_EQ(numbers(decoded(file).value()), (std::vector<int>{255, 0, 255}));
}

TEST(Png, transparency_is_dropped_and_the_colour_below_it_stays) {
  const auto rgba = png_bytes({2, 1}, {.colours = PNG_COLOR_TYPE_RGB_ALPHA},
                              std::string("\x01\x02\x03\x00\x04\x05\x06\xFF", 8));
  EXPECT_EQ(numbers(decoded(rgba).value()), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  const auto grey =
      png_bytes({2, 1}, {.colours = PNG_COLOR_TYPE_GRAY_ALPHA}, std::string("\x07\x00\x08\x80", 4));
  EXPECT_EQ(numbers(decoded(grey).value()), (std::vector<int>{7, 8}));
}

TEST(Png, a_file_that_is_cut_off_or_damaged_is_refused) {
  const std::string file = png_bytes(pattern({40, 30}, 3));
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{30}, file.size() / 2, file.size() - 1}) {
    EXPECT_NE(refusal(file.substr(0, bytes)).find("is damaged or cut off"), std::string::npos)
        << bytes;
  }
  std::string flipped = file;
  flipped[file.size() / 2] = static_cast<char>(flipped[file.size() / 2] ^ 1);
  EXPECT_NE(refusal(flipped).find("is damaged or cut off"), std::string::npos);
}

TEST(Jpeg, a_slope_stays_nearly_what_it_was) {
  for (const std::uint32_t channels : {1U, 3U}) {
    for (const bool is_progressive : {false, true}) {
      const Image image = slope({64, 40}, channels);
      EXPECT_LE(distance(decoded(jpeg_bytes(image, is_progressive)).value(), image), 4);
    }
  }
}

TEST(Jpeg, a_file_that_is_cut_off_or_damaged_is_refused) {
  const std::string file = jpeg_bytes(pattern({64, 48}, 3));
  for (const std::size_t bytes :
       {std::size_t{3}, std::size_t{100}, file.size() / 2, file.size() - 40}) {
    EXPECT_NE(refusal(file.substr(0, bytes)).find("is damaged or cut off"), std::string::npos)
        << bytes << refusal(file.substr(0, bytes));
  }
}

TEST(Jpeg, bytes_that_belong_to_nothing_do_no_harm) {
  const Image image = slope({64, 40}, 1);
  const std::string file = jpeg_bytes(image);
  EXPECT_LE(distance(decoded(file + "and more").value(), image), 4);
}

TEST(Jpeg, colours_of_printers_are_refused) {
  const auto file = jpeg_bytes({8, 8}, JCS_CMYK, std::string(8 * 8 * 4, 'a'));
  EXPECT_NE(refusal(file).find("CMYK"), std::string::npos) << refusal(file);
}

TEST(Images, more_pixels_than_the_limit_are_refused_before_memory_is_taken) {
  for (const std::string& file :
       {png_bytes(pattern({40, 30}, 3)), jpeg_bytes(pattern({40, 30}, 3))}) {
    EXPECT_EQ(refusal(file, 1200), "");
    EXPECT_EQ(refusal(file, 1199), "has 40 x 30 pixels; the limit is 1199 pixels");
  }
}

TEST(Images, other_files_are_refused) {
  EXPECT_EQ(refusal(""), "is empty");
  EXPECT_EQ(refusal("GIF89a"), "is neither JPEG nor PNG");
}

TEST(Images, grey_and_colours_become_each_other) {
  const Image grey = with_channels(pattern({13, 9}, 3), 1);
  auto begin = numbers(grey);
  begin.resize(16);
  // What Pillow's convert("L") gives.
  EXPECT_EQ(begin, (std::vector<int>{43, 80, 117, 154, 191, 199, 86, 46, 83, 120, 157, 165, 202,
                                     144, 188, 203}));
  const Image back = with_channels(grey, 3);
  EXPECT_EQ(back.channels, 3U);
  EXPECT_EQ(numbers(back)[3], 80);
  EXPECT_EQ(with_channels(back, 1).pixels, grey.pixels);
}

std::string hash(const Image& image) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(image.pixels.data()), image.pixels.size(),
         digest.data());
  return hex(std::as_bytes(std::span(digest))).substr(0, 16);
}

// The hashes are those of Pillow 9.4: Image.resize(size, Image.BILINEAR) on the same pixels.
TEST(Resize, gives_the_bits_of_pillow) {
  EXPECT_EQ(hash(resized(pattern({13, 9}, 3), {5, 4})), "884291e63b149bb9");
  EXPECT_EQ(hash(resized(pattern({7, 5}, 3), {16, 11})), "12d7860e5d2c1f8d");
  EXPECT_EQ(hash(resized(pattern({100, 80}, 3), {32, 32})), "0d847b80bd808905");
  EXPECT_EQ(hash(resized(pattern({13, 9}, 1), {5, 4})), "0eb3d2601c2e7daf");
  EXPECT_EQ(hash(resized(pattern({64, 48}, 1), {64, 20})), "b1efbda603a5b490");
  EXPECT_EQ(numbers(resized(pattern({3, 3}, 1), {1, 1})), (std::vector<int>{124}));
  EXPECT_EQ(numbers(resized(pattern({1, 1}, 1), {2, 2})), (std::vector<int>{0, 0, 0, 0}));
}

TEST(Resize, a_picture_of_the_wanted_size_stays_as_it_is) {
  const Image image = pattern({13, 9}, 3);
  EXPECT_EQ(resized(image, image.size).pixels, image.pixels);
}

TEST(ImageNames, endings_count_in_any_case) {
  EXPECT_TRUE(is_image_name("a.jpg"));
  EXPECT_TRUE(is_image_name("A.JpEg"));
  EXPECT_TRUE(is_image_name("a.b.PNG"));
  for (const char* name : {".jpg", "jpg", "a.gif", "a.jpg.gz", "png", ""}) {
    EXPECT_FALSE(is_image_name(name)) << name;
  }
}

}  // namespace
}  // namespace edl::data
