#include "edl/train/builtin/digits.h"

#include "edl/base/text.h"

// The file's bytes, between these two symbols.
asm(R"(
    .section .rodata
    .global edl_digits_begin
    .global edl_digits_end
edl_digits_begin:
    .incbin ")" EDL_DIGITS_PATH R"("
edl_digits_end:
    .previous
)");
extern "C" const char edl_digits_begin[];
extern "C" const char edl_digits_end[];

namespace edl::train {
namespace {

constexpr std::string_view kLevels = "0123456789abcdefg";
constexpr std::size_t kTestEvery = 5;

Result<Digit> parse_digit(std::string_view line) {
  constexpr std::size_t kLength = Digit::kPixels + 2;
  if (line.size() != kLength || line[Digit::kPixels] != ' ' || line.back() < '0' ||
      line.back() > '9') {
    return Error{Code::kCorrupt, text("\"", line, "\" is no image of a digit")};
  }
  Digit digit;
  for (std::size_t i = 0; i < Digit::kPixels; ++i) {
    const std::size_t level = kLevels.find(line[i]);
    if (level == std::string_view::npos) {
      return Error{Code::kCorrupt, text("\"", line[i], "\" is no pixel")};
    }
    digit.pixels[i] = static_cast<float>(level) / 16;
  }
  digit.label = static_cast<std::uint8_t>(line.back() - '0');
  return digit;
}

std::vector<Digit> digits(bool test) {
  const auto all = parse_digits({edl_digits_begin, edl_digits_end});
  EDL_CHECK(all.ok());
  std::vector<Digit> out;
  for (std::size_t i = 0; i < all->size(); ++i) {
    if ((i % kTestEvery == 0) == test) out.push_back((*all)[i]);
  }
  return out;
}

}  // namespace

Result<std::vector<Digit>> parse_digits(std::string_view content) {
  std::vector<Digit> out;
  for (const std::string_view line : split(content, '\n')) {
    if (line.empty()) continue;
    EDL_TRY(const Digit digit, parse_digit(line));
    out.push_back(digit);
  }
  return out;
}

std::vector<Digit> training_digits() { return digits(false); }
std::vector<Digit> test_digits() { return digits(true); }

}  // namespace edl::train
