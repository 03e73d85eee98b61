// Files of numbers that a data set is made of, from anyone: IDX, NPY, CSV, gzip.
#include "edl/base/check.h"
#include "edl/data/csv.h"
#include "edl/data/gzip.h"
#include "edl/data/idx.h"
#include "edl/data/npy.h"
#include "tests/fuzz/input.h"

using namespace edl;

namespace {

constexpr std::uint64_t kUnpackedBytesMax = 1 << 20;

// Every row can be read, and together they are all of the bytes.
void read_rows(const Result<data::Array>& array) {
  if (!array.ok()) {
    EDL_CHECK(!array.error().message.empty());
    return;
  }
  EDL_CHECK(data::array_bytes(array->dtype, array->shape).value() == array->bytes.size());
  if (array->shape.empty() || array->bytes.empty()) return;
  Bytes row(data::row_bytes(*array));
  EDL_CHECK(row.size() * data::rows(*array) == array->bytes.size());
  for (std::uint64_t i = 0; i < data::rows(*array); ++i) data::copy_row(*array, i, row);
}

void read_all(ConstBytes bytes) {
  read_rows(data::parse_idx(bytes));
  read_rows(data::parse_npy(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  read_all(input.rest());
  if (const auto plain = data::gunzip(input.rest(), kUnpackedBytesMax); plain.ok()) {
    EDL_CHECK(plain->size() <= kUnpackedBytesMax);
    read_all(*plain);
  }
  data::CsvOptions options;
  const std::uint8_t choice = input.number();
  options.has_header = (choice & 1) != 0;
  options.separator = (choice & 2) != 0 ? ',' : '\t';
  if ((choice & 4) != 0) options.dtype = data::Dtype::kI64;
  if ((choice & 8) != 0) options.columns = {1};
  read_rows(data::parse_csv(text_of(input.rest()), options));
  return 0;
}
