#include "edl/data/array.h"

#include <algorithm>
#include <array>

#include "edl/base/text.h"

namespace edl::data {
namespace {

struct Kind {
  std::string_view name;
  std::size_t bytes;
};

// In the order of Dtype.
constexpr std::array<Kind, 9> kKinds{{{"bool", 1},
                                      {"uint8", 1},
                                      {"int8", 1},
                                      {"int16", 2},
                                      {"int32", 4},
                                      {"int64", 8},
                                      {"float16", 2},
                                      {"float32", 4},
                                      {"float64", 8}}};
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 62;

}  // namespace

std::size_t dtype_bytes(Dtype dtype) { return kKinds[static_cast<std::size_t>(dtype)].bytes; }
std::string_view dtype_name(Dtype dtype) { return kKinds[static_cast<std::size_t>(dtype)].name; }

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "one number";
  std::string out;
  for (const std::uint64_t size : shape) out += text(out.empty() ? "" : " x ", size);
  return out;
}

Result<std::uint64_t> array_bytes(Dtype dtype, const Shape& shape) {
  if (shape.size() > kDimensionsMax) {
    return Error{Code::kExhausted,
                 text("asks for ", shape.size(), " dimensions; the limit is ", kDimensionsMax)};
  }
  // Each size counts, also beside one of 0: rows and strides are made of them.
  std::uint64_t bytes = dtype_bytes(dtype);
  for (const std::uint64_t size : shape) {
    if (size > 0 && bytes > kBytesMax / size) {
      return Error{Code::kExhausted, text("asks for ", shape_text(shape), " of ", dtype_name(dtype),
                                          ": more bytes than there can be")};
    }
    bytes *= std::max<std::uint64_t>(size, 1);
  }
  return std::ranges::find(shape, 0u) != shape.end() ? 0 : bytes;
}

std::uint64_t rows(const Array& array) {
  EDL_CHECK(!array.shape.empty(), "one number has no rows");
  return array.shape.front();
}

std::size_t row_bytes(const Array& array) {
  return rows(array) == 0 ? 0 : array.bytes.size() / rows(array);
}

void copy_row(const Array& array, std::uint64_t i, ByteSpan into) {
  const std::size_t length = row_bytes(array);
  EDL_CHECK(i < rows(array) && into.size() == length, "a row of the array");
  const ConstBytes row = array.bytes.subspan(i * length, length);
  std::ranges::copy(row, into.begin());
  const std::size_t width = dtype_bytes(array.dtype);
  if (!array.is_big_endian || width == 1) return;
  for (std::size_t at = 0; at < length; at += width) std::ranges::reverse(into.subspan(at, width));
}

Result<Array> array_over(Dtype dtype, Shape shape, ConstBytes bytes) {
  EDL_TRY(const std::uint64_t wanted, array_bytes(dtype, shape));
  if (wanted != bytes.size()) {
    return Error{Code::kCorrupt,
                 text("holds ", bytes.size(), " bytes of numbers, but ", shape_text(shape), " of ",
                      dtype_name(dtype), " are ", wanted, ": it was cut off or written otherwise")};
  }
  return Array{.dtype = dtype, .shape = std::move(shape), .bytes = bytes};
}

}  // namespace edl::data
