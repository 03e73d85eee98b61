#include "edl/checkpoint/tensor.h"

#include <algorithm>
#include <array>

#include "edl/base/text.h"

namespace edl::checkpoint {
namespace {

struct Kind {
  std::string_view name;
  std::size_t bytes;
};

// In the order of Dtype.
constexpr std::array<Kind, 13> kKinds{{{"BOOL", 1},
                                       {"U8", 1},
                                       {"I8", 1},
                                       {"I16", 2},
                                       {"U16", 2},
                                       {"F16", 2},
                                       {"BF16", 2},
                                       {"I32", 4},
                                       {"U32", 4},
                                       {"F32", 4},
                                       {"I64", 8},
                                       {"U64", 8},
                                       {"F64", 8}}};
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 62;

}  // namespace

std::size_t dtype_bytes(Dtype dtype) { return kKinds[static_cast<std::size_t>(dtype)].bytes; }
std::string_view dtype_name(Dtype dtype) { return kKinds[static_cast<std::size_t>(dtype)].name; }

Result<Dtype> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i].name == name) return static_cast<Dtype>(i);
  }
  return Error{Code::kInvalid, text("there is no type of numbers called \"", name, "\"")};
}

std::string form_text(Dtype dtype, const std::vector<std::int64_t>& shape) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += text(sizes.empty() ? "" : ",", size);
  return text(dtype_name(dtype), "[", sizes, "]");
}

Result<std::uint64_t> tensor_bytes(Dtype dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = dtype_bytes(dtype);
  for (const std::int64_t size : shape) {
    if (size < 0) return Error{Code::kInvalid, text("a size of ", size, " is negative")};
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0u;
  for (const std::int64_t size : shape) {
    if (bytes > kBytesMax / static_cast<std::uint64_t>(size)) {
      return Error{Code::kExhausted, "a tensor has more bytes than there can be"};
    }
    bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

Result<void> validate(const Tensor& tensor) {
  if (tensor.name.empty()) return Error{Code::kInvalid, "a tensor has no name"};
  EDL_TRY(const std::uint64_t bytes, tensor_bytes(tensor.dtype, tensor.shape));
  if (bytes == tensor.bytes.size()) return {};
  return Error{Code::kInvalid, text("tensor ", tensor.name, " has ", tensor.bytes.size(),
                                    " bytes, but its shape asks for ", bytes)};
}

}  // namespace edl::checkpoint
