#include "edl/data/array_file.h"

#include "edl/base/text.h"
#include "edl/data/gzip.h"
#include "edl/data/idx.h"
#include "edl/data/npy.h"
#include "edl/os/mapped_file.h"

namespace edl::data {
namespace {

struct Contents {
  ConstBytes bytes;
  std::shared_ptr<const void> owner;
};

Result<Contents> map(const std::string& path) {
  EDL_TRY(const auto file, os::MappedFile::open(path));
  return Contents{file->bytes(), file};
}

Result<Contents> unpacked(const Contents& file) {
  if (!is_gzip(file.bytes)) return file;
  EDL_TRY(Bytes bytes, gunzip(file.bytes, kUnpackedBytesMax));
  const auto owned = std::make_shared<const Bytes>(std::move(bytes));
  return Contents{*owned, owned};
}

// An array that borrows the contents keeps them.
Result<Array> kept(Result<Array> array, const Contents& contents) {
  if (array.ok() && array->owner == nullptr) array->owner = contents.owner;
  return array;
}

Result<Array> named(const std::string& path, Result<Array> array) {
  if (array.ok()) {
    array->name = path;
    return array;
  }
  return Error{array.error().code, text(path, ": ", array.error().message)};
}

template <class Parse>
Result<Array> read(const std::string& path, Parse parse) {
  EDL_TRY(const Contents file, map(path));
  const auto contents = unpacked(file);
  if (!contents.ok()) return named(path, contents.error());
  return named(path, kept(parse(contents->bytes), *contents));
}

}  // namespace

Result<Array> idx_file(const std::string& path) { return read(path, parse_idx); }
Result<Array> npy_file(const std::string& path) { return read(path, parse_npy); }

Result<Array> csv_file(const std::string& path, const CsvOptions& options) {
  return read(path, [&](ConstBytes bytes) { return parse_csv(text_of(bytes), options); });
}

Result<Array> raw_file(const std::string& path, Dtype dtype, Shape shape) {
  EDL_TRY(const Contents file, map(path));
  return named(path, kept(array_over(dtype, std::move(shape), file.bytes), file));
}

Result<Array> bytes_file(const std::string& path) {
  EDL_TRY(const Contents file, map(path));
  return named(path, kept(array_over(Dtype::kU8, {file.bytes.size()}, file.bytes), file));
}

}  // namespace edl::data
