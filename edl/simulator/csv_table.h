// Tables of words with named columns: the traces and profiles that others publish.
#pragma once

#include <string_view>
#include <vector>

#include "edl/base/result.h"

namespace edl::simulator {

class CsvTable {
 public:
  // Every row must have as many fields as there are names. `words` outlives the table.
  static Result<CsvTable> parse(std::string_view words, char separator = ',');
  // Without a line of names: columns are known by their number.
  static Result<CsvTable> parse_rows(std::string_view words, char separator);

  std::size_t rows() const { return rows_.size(); }
  std::size_t columns() const { return names_.size(); }
  std::size_t width() const { return rows_.empty() ? names_.size() : rows_.front().size(); }
  std::string_view name(std::size_t column) const { return names_[column]; }
  std::string_view field(std::size_t row, std::size_t column) const { return rows_[row][column]; }
  Result<std::size_t> column(std::string_view name) const;
  bool has(std::string_view name) const;
  // A finite number; the sentence names row and column.
  Result<double> number(std::size_t row, std::size_t column) const;
  // One that is not below 0, and no larger than a time or an amount of work can be.
  Result<double> amount(std::size_t row, std::size_t column) const;
  // A whole number of at least `least`, and at most a million or so.
  Result<std::uint32_t> count(std::size_t row, std::size_t column, std::uint32_t least = 0) const;

 private:
  std::vector<std::string_view> names_{};
  std::vector<std::vector<std::string_view>> rows_{};
};

}  // namespace edl::simulator
