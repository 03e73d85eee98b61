// Numbers of one type in rows, as a file holds them: what a data set is made of. The bytes are
// borrowed from a mapped file, or belong to the array where they had to be made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/bytes.h"

namespace edl::data {

enum class Dtype { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kF32, kF64 };

std::size_t dtype_bytes(Dtype dtype);
std::string_view dtype_name(Dtype dtype);  // as numpy calls it: "float32"

using Shape = std::vector<std::uint64_t>;
std::string shape_text(const Shape& shape);  // "60000 x 28 x 28"

// Of all numbers together; an error when that is more than there can be.
Result<std::uint64_t> array_bytes(Dtype dtype, const Shape& shape);

struct Array {
  Dtype dtype = Dtype::kF32;
  Shape shape{};       // empty: one number
  ConstBytes bytes{};  // as many as dtype and shape say
  bool is_big_endian = false;
  std::string name{};                   // of the file, for sentences about it
  std::shared_ptr<const void> owner{};  // of the bytes; nothing when the caller keeps them
};

// Of an array of at least one dimension.
std::uint64_t rows(const Array& array);
std::size_t row_bytes(const Array& array);
// Rows with their numbers as this machine has them. `into` is of row_bytes for each.
void copy_row(const Array& array, std::uint64_t i, ByteSpan into);
void copy_rows(const Array& array, std::span<const std::uint64_t> wanted, ByteSpan into);
// As they are, of `count` rows that lie one behind the other.
void copy_rows(ConstBytes all, std::uint64_t count, std::span<const std::uint64_t> wanted,
               ByteSpan into);

// An array over bytes that must be exactly as many as dtype and shape ask for.
Result<Array> array_over(Dtype dtype, Shape shape, ConstBytes bytes);

constexpr std::size_t kDimensionsMax = 32;

}  // namespace edl::data
