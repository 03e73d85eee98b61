// A named block of numbers, as checkpoints and hashes see it. It borrows its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/bytes.h"

namespace edl::checkpoint {

enum class Dtype { kBool, kU8, kI8, kI16, kU16, kF16, kBf16, kI32, kU32, kF32, kI64, kU64, kF64 };

std::size_t dtype_bytes(Dtype dtype);
// As safetensors spells it: "F32".
std::string_view dtype_name(Dtype dtype);
Result<Dtype> parse_dtype(std::string_view name);
// "F32[40,10]", for sentences.
std::string form_text(Dtype dtype, const std::vector<std::int64_t>& shape);

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape{};  // empty: one number
  ConstBytes bytes{};                 // little-endian, as many as dtype and shape say
};

// The length that dtype and shape ask for; an error when it does not fit into memory.
Result<std::uint64_t> tensor_bytes(Dtype dtype, const std::vector<std::int64_t>& shape);
// An error when the bytes are not as many as dtype and shape say, or the name is empty.
Result<void> validate(const Tensor& tensor);

}  // namespace edl::checkpoint
