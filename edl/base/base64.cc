#include "edl/base/base64.h"

#include <array>
#include <cstdint>

#include "edl/base/text.h"

namespace edl {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoLetter = 0xff;

constexpr auto kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoLetter);
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    values[static_cast<std::uint8_t>(kLetters[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

bool is_break(char c) { return c == '\n' || c == '\r'; }

Error illegal(std::size_t at) {
  return {Code::kInvalid, text("illegal base64 data at input byte ", at)};
}

// Reads groups of four letters until the text ends.
class Decoder {
 public:
  explicit Decoder(std::string_view input) : text_(input) {}

  Result<std::string> run() {
    plain_groups();
    for (skip_breaks(); at_ < text_.size() && !ended_; skip_breaks()) EDL_TRY(group());
    if (at_ < text_.size()) return illegal(at_);
    return std::move(out_);
  }

 private:
  void skip_breaks() {
    while (at_ < text_.size() && is_break(text_[at_])) ++at_;
  }

  // Most texts are whole groups of letters, without a break.
  void plain_groups() {
    out_.resize(text_.size() / 4 * 3);
    const auto letter = [this](std::size_t i) {
      return kValues[static_cast<std::uint8_t>(text_[at_ + i])];
    };
    std::size_t length = 0;
    for (; at_ + 4 <= text_.size(); at_ += 4, length += 3) {
      // A value has six bits; that of what is no letter has eight.
      if ((letter(0) | letter(1) | letter(2) | letter(3)) > 63) break;
      const std::uint32_t bits = letter(0) << 18 | letter(1) << 12 | letter(2) << 6 | letter(3);
      out_[length] = static_cast<char>(bits >> 16);
      out_[length + 1] = static_cast<char>(bits >> 8);
      out_[length + 2] = static_cast<char>(bits);
    }
    out_.resize(length);
  }

  Result<void> group() {
    std::uint32_t bits = 0;
    int letters = 0;
    for (; letters < 4; ++letters) {
      skip_breaks();
      if (at_ == text_.size()) return illegal(at_ - static_cast<std::size_t>(letters));
      const std::uint8_t value = kValues[static_cast<std::uint8_t>(text_[at_])];
      if (value == kNoLetter) break;
      bits = bits << 6 | value;
      ++at_;
    }
    if (letters < 4) EDL_TRY(padding(letters));
    bits <<= 6 * (4 - letters);
    for (int byte = 0; byte < letters - 1; ++byte) {
      out_ += static_cast<char>(bits >> (16 - 8 * byte) & 0xff);
    }
    return {};
  }

  Result<void> padding(int letters) {
    if (text_[at_] != '=' || letters < 2) return illegal(at_);
    ++at_;
    skip_breaks();
    if (letters == 2) {
      if (at_ == text_.size()) return illegal(at_);
      if (text_[at_] != '=') return illegal(at_ - 1);
      ++at_;
      skip_breaks();
    }
    ended_ = true;
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ended_ = false;
  std::string out_;
};

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::size_t begin = out.size();
  out.resize(begin + (bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data() + begin;
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (const int shift : {18, 12, 6, 0}) *to++ = kLetters[bits >> shift & 63];
  }
  if (i == bytes.size()) return;
  const bool two = bytes.size() - i == 2;
  const std::uint32_t bits = byte(i) << 16 | (two ? byte(i + 1) << 8 : 0);
  *to++ = kLetters[bits >> 18 & 63];
  *to++ = kLetters[bits >> 12 & 63];
  if (two) *to++ = kLetters[bits >> 6 & 63];
}

std::string base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

Result<std::string> parse_base64(std::string_view input) { return Decoder(input).run(); }

}  // namespace edl
