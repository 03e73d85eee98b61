#include "edl/data/idx.h"

#include <optional>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kSizeBytes = 4;

std::optional<Dtype> dtype_of(std::uint8_t code) {
  switch (code) {
    case 0x08:
      return Dtype::kU8;
    case 0x09:
      return Dtype::kI8;
    case 0x0B:
      return Dtype::kI16;
    case 0x0C:
      return Dtype::kI32;
    case 0x0D:
      return Dtype::kF32;
    case 0x0E:
      return Dtype::kF64;
    default:
      return std::nullopt;
  }
}

std::uint8_t byte_at(ConstBytes file, std::size_t i) {
  return std::to_integer<std::uint8_t>(file[i]);
}

}  // namespace

Result<Array> parse_idx(ConstBytes file) {
  if (file.size() < kMagicBytes || byte_at(file, 0) != 0 || byte_at(file, 1) != 0) {
    return Error{Code::kCorrupt, "is not IDX: such a file begins with two zero bytes"};
  }
  const auto dtype = dtype_of(byte_at(file, 2));
  if (!dtype) {
    return Error{Code::kCorrupt, text("is not IDX: there is no type of numbers ",
                                      int{byte_at(file, 2)}, "; 8, 9, 11, 12, 13 and 14 are")};
  }
  const std::size_t dimensions = byte_at(file, 3);
  const std::size_t header = kMagicBytes + dimensions * kSizeBytes;
  if (file.size() < header) {
    return Error{Code::kCorrupt,
                 text("ends inside its IDX header: ", file.size(), " bytes of ", header)};
  }
  Shape shape;
  for (std::size_t at = kMagicBytes; at < header; at += kSizeBytes) {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < kSizeBytes; ++i) size = size << 8 | byte_at(file, at + i);
    shape.push_back(size);
  }
  EDL_TRY(Array out, array_over(*dtype, std::move(shape), file.subspan(header)));
  out.is_big_endian = true;
  return out;
}

}  // namespace edl::data
