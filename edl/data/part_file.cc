#include "edl/data/part_file.h"

namespace edl::data {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

// All bytes of the file go into the hash; answers how many.
Result<std::uint64_t> hash_file(os::File& file, Sha256& hash) {
  Bytes piece(kPieceBytes);
  std::uint64_t at = 0;
  while (true) {
    EDL_TRY(const std::size_t got, file.read_at(at, piece));
    hash.add(ConstBytes(piece).first(got));
    at += got;
    if (got < piece.size()) return at;
  }
}

}  // namespace

Result<std::unique_ptr<PartFile>> PartFile::open(os::Disk& disk, const std::string& path) {
  EDL_TRY(auto file, disk.open(path, os::Open::kWrite));
  std::unique_ptr<PartFile> out(new PartFile(path, std::move(file)));
  EDL_TRY(out->bytes_, hash_file(*out->file_, *out->hash_));
  return out;
}

Result<void> PartFile::add(ConstBytes bytes) {
  hash_->add(bytes);
  EDL_TRY(file_->write_at(bytes_, bytes));
  bytes_ += bytes.size();
  return {};
}

Result<void> PartFile::restart() {
  EDL_TRY(file_->truncate(0));
  hash_ = std::make_unique<Sha256>();
  bytes_ = 0;
  return {};
}

Result<std::string> PartFile::finish() {
  EDL_TRY(file_->sync());
  return hash_->finish();
}

Result<std::string> sha256_of(os::Disk& disk, const std::string& path) {
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  Sha256 hash;
  EDL_TRY(hash_file(*file, hash));
  return hash.finish();
}

}  // namespace edl::data
