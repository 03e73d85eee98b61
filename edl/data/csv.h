// Tables of numbers as text: one row a line, fields separated by a comma.
#pragma once

#include <string_view>
#include <vector>

#include "edl/data/array.h"

namespace edl::data {

struct CsvOptions {
  bool has_header = false;                           // the first line names the columns
  char separator = ',';                              // spaces around fields never count
  Dtype dtype = Dtype::kF32;                         // or kF64, or kI64 for labels
  std::vector<std::size_t> columns{};                // these only, counted from 0; empty: all
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  // of text: the numbers are held in memory
};

// The shape is rows x columns; one chosen column gives rows only. Every line has as many fields as
// the first; empty lines do not count. A field that is no such number is told by line and column,
// counted from 1.
Result<Array> parse_csv(std::string_view words, const CsvOptions& options);

}  // namespace edl::data
