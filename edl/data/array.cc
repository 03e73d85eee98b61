#include "edl/data/array.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::size_t kLineBytes = 64;     // of memory
constexpr std::size_t kAskedBytes = 4096;  // behind that the machine sees by itself what is read

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
  copy_rows(array, std::span(&i, 1), into);
}

void copy_rows(const Array& array, std::span<const std::uint64_t> wanted, ByteSpan into) {
  copy_rows(array.bytes, rows(array), wanted, into);
  const std::size_t width = dtype_bytes(array.dtype);
  if (!array.is_big_endian || width == 1) return;
  for (std::size_t at = 0; at < into.size(); at += width) {
    std::ranges::reverse(into.subspan(at, width));
  }
}

// They lie where nobody expects them: the next one is asked for while one is copied.
void copy_rows(ConstBytes all, std::uint64_t count, std::span<const std::uint64_t> wanted,
               ByteSpan into) {
  if (wanted.empty()) return;
  EDL_CHECK(std::ranges::max(wanted) < count, "a row of the array");
  const std::size_t length = all.size() / count;
  EDL_CHECK(into.size() == wanted.size() * length, "room for the rows");
  if (length == 0) return;
  const std::size_t asked = std::min(length, kAskedBytes);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t next = wanted[std::min(i + 1, wanted.size() - 1)] * length;
    for (std::size_t at = 0; at < asked; at += kLineBytes) __builtin_prefetch(&all[next + at]);
    std::memcpy(into.data() + i * length, &all[wanted[i] * length], length);
  }
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
