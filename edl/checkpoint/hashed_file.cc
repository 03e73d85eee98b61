#include "edl/checkpoint/hashed_file.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::checkpoint {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;  // stays in cache between hash and write

}  // namespace

Result<void> HashedWriter::add(ConstBytes bytes) {
  while (!bytes.empty()) {
    const ConstBytes piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    hash_.add(piece);
    EDL_TRY(file_.write_at(bytes_, piece));
    bytes_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

Result<void> HashedWriter::finish() {
  sha256_ = hash_.finish();
  return file_.truncate(bytes_);
}

Result<void> read_range(os::File& file, FileRange range,
                        const std::function<void(ConstBytes)>& take) {
  Bytes piece(std::min<std::uint64_t>(kPieceBytes, range.end - range.begin));
  for (std::uint64_t at = range.begin; at < range.end; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), range.end - at));
    EDL_TRY(const std::size_t got, file.read_at(at, piece));
    if (got < piece.size()) {
      return Error{Code::kCorrupt, text("ends after ", at + got, " bytes, before ", range.end)};
    }
    take(piece);
  }
  return {};
}

}  // namespace edl::checkpoint
