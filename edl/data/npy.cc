#include "edl/data/npy.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionAt = 6;
constexpr std::size_t kLengthAt = 8;
constexpr std::size_t kHeaderBytesMax = 64 << 10;

Error broken(std::string_view what) {
  return {Code::kCorrupt, text("has a broken NPY header: ", what)};
}

// The few words of Python that such a header is made of.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}

  bool take(std::string_view word) {
    skip_spaces();
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  // Between quotes of either kind; no value has a quote or a backslash in it.
  std::optional<std::string_view> string() {
    skip_spaces();
    if (left_.empty() || (left_[0] != '\'' && left_[0] != '"')) return std::nullopt;
    const std::size_t end = left_.find(left_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view out = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return out;
  }
  std::optional<std::uint64_t> number() {
    skip_spaces();
    std::uint64_t out = 0;
    const auto [end, failed] = std::from_chars(left_.data(), left_.data() + left_.size(), out);
    if (failed != std::errc()) return std::nullopt;
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return out;
  }
  bool at_end() {
    skip_spaces();
    return left_.empty();
  }

 private:
  void skip_spaces() {
    const std::size_t begin = left_.find_first_not_of(" \t\n\r\f");
    left_.remove_prefix(begin == std::string_view::npos ? left_.size() : begin);
  }

  std::string_view left_;
};

struct Header {
  std::optional<std::string_view> descr{};
  std::optional<bool> is_fortran{};
  std::optional<Shape> shape{};
};

Result<Shape> shape_from(Words& words) {
  if (!words.take("(")) return broken("the shape is not in brackets");
  Shape shape;
  while (!words.take(")")) {
    const auto size = words.number();
    if (!size) return broken("a size in the shape is no number");
    if (shape.size() == kDimensionsMax) {
      return broken(text("more than ", kDimensionsMax, " dimensions"));
    }
    shape.push_back(*size);
    words.take("L");  // of Python 2
    if (words.take(")")) break;
    if (!words.take(",")) return broken("sizes in the shape are not separated by commas");
  }
  return shape;
}

Result<void> read_value(std::string_view key, Words& words, Header& header) {
  if (key == "descr") {
    if (words.take("[")) {
      return Error{Code::kInvalid,
                   "holds records of several fields; save each field as a file of its own: "
                   "numpy.save(FILE, array[FIELD])"};
    }
    header.descr = words.string();
    return header.descr ? Result<void>() : broken("descr is no string");
  }
  if (key == "fortran_order") {
    const bool is_true = words.take("True");
    if (!is_true && !words.take("False")) return broken("fortran_order is neither True nor False");
    header.is_fortran = is_true;
    return {};
  }
  if (key == "shape") {
    EDL_TRY(header.shape, shape_from(words));
    return {};
  }
  return broken(text("it has a key \"", key.substr(0, 40), "\""));
}

Result<Header> header_from(std::string_view words_text) {
  Words words(words_text);
  Header header;
  if (!words.take("{")) return broken("it is no dictionary");
  while (!words.take("}")) {
    const auto key = words.string();
    if (!key || !words.take(":")) return broken("a key without a value");
    EDL_TRY(read_value(*key, words, header));
    if (words.take("}")) break;
    if (!words.take(",")) return broken("entries are not separated by commas");
  }
  if (!words.at_end()) return broken("something follows the dictionary");
  if (!header.descr || !header.is_fortran || !header.shape) {
    return broken("descr, fortran_order or shape is missing");
  }
  return header;
}

Result<Dtype> dtype_from(std::string_view descr) {
  constexpr std::array<std::pair<std::string_view, Dtype>, 9> kKnown{{{"b1", Dtype::kBool},
                                                                      {"u1", Dtype::kU8},
                                                                      {"i1", Dtype::kI8},
                                                                      {"i2", Dtype::kI16},
                                                                      {"i4", Dtype::kI32},
                                                                      {"i8", Dtype::kI64},
                                                                      {"f2", Dtype::kF16},
                                                                      {"f4", Dtype::kF32},
                                                                      {"f8", Dtype::kF64}}};
  const std::string_view kind = descr.substr(descr.empty() ? 0 : 1);
  for (const auto& [name, dtype] : kKnown) {
    if (kind != name) continue;
    if (descr[0] == '<' || (dtype_bytes(dtype) == 1 && descr[0] == '|')) return dtype;
    return Error{Code::kInvalid,
                 text("holds numbers that are not little-endian (", descr,
                      "); save them with numpy.save(FILE, array.astype('<", name, "'))")};
  }
  return Error{Code::kInvalid, text("holds elements of type \"", descr.substr(0, 40),
                                    "\", which cannot be trained on; save them as another type: "
                                    "numpy.save(FILE, array.astype('<f4')), or '<i8' for labels")};
}

// Where the dictionary is.
struct Place {
  std::size_t at = 0;
  std::size_t length = 0;
};

Result<Place> header_place(ConstBytes file) {
  if (file.size() < kLengthAt + 2 || !text_of(file).starts_with(kMagic)) {
    return Error{Code::kCorrupt, "is not NPY: such a file begins with \\x93NUMPY"};
  }
  const auto version = std::to_integer<std::uint8_t>(file[kVersionAt]);
  if (version < 1 || version > 3) {
    return Error{Code::kInvalid, text("is NPY of version ", int{version}, "; 1 to 3 are read")};
  }
  const std::size_t width = version == 1 ? sizeof(std::uint16_t) : sizeof(std::uint32_t);
  if (file.size() < kLengthAt + width) return broken("the file ends inside it");
  const std::size_t length = version == 1 ? load_int<std::uint16_t>(file.data() + kLengthAt)
                                          : load_int<std::uint32_t>(file.data() + kLengthAt);
  if (length > kHeaderBytesMax) {
    return broken(text("it has ", length, " bytes; the limit is ", kHeaderBytesMax));
  }
  if (length > file.size() - kLengthAt - width) return broken("the file ends inside it");
  return Place{.at = kLengthAt + width, .length = length};
}

}  // namespace

Result<Array> parse_npy(ConstBytes file) {
  EDL_TRY(const Place place, header_place(file));
  EDL_TRY(Header header, header_from(text_of(file.subspan(place.at, place.length))));
  EDL_TRY(const Dtype dtype, dtype_from(*header.descr));
  if (*header.is_fortran && header.shape->size() > 1) {
    return Error{Code::kInvalid,
                 "is in Fortran order; save it with numpy.save(FILE, "
                 "numpy.ascontiguousarray(array))"};
  }
  return array_over(dtype, std::move(*header.shape), file.subspan(place.at + place.length));
}

}  // namespace edl::data
