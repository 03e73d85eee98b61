#include "edl/simulator/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "edl/base/text.h"

namespace edl::simulator {
namespace {

constexpr std::size_t kRowsMax = 4 << 20;
constexpr std::uint32_t kCountMax = 1 << 20;
constexpr double kAmountMax = 1e15;

}  // namespace

Result<CsvTable> CsvTable::parse_rows(std::string_view words, char separator) {
  CsvTable table;
  std::size_t line = 0;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('\n'), words.size());
    const std::string_view one = trim(words.substr(0, end));
    words = end == words.size() ? std::string_view{} : words.substr(end + 1);
    ++line;
    if (one.empty()) continue;
    std::vector<std::string_view> fields = split(one, separator);
    for (std::string_view& field : fields) field = trim(field);
    if (!table.rows_.empty() && fields.size() != table.rows_.front().size()) {
      return Error{Code::kInvalid, text("line ", line, " has ", fields.size(),
                                        " fields; the first has ", table.rows_.front().size())};
    }
    if (table.rows_.size() == kRowsMax) {
      return Error{Code::kExhausted, text("it has more than ", kRowsMax, " lines")};
    }
    table.rows_.push_back(std::move(fields));
  }
  if (table.rows_.empty()) return Error{Code::kInvalid, "it is empty"};
  return table;
}

Result<CsvTable> CsvTable::parse(std::string_view words, char separator) {
  EDL_TRY(CsvTable table, parse_rows(words, separator));
  table.names_ = std::move(table.rows_.front());
  table.rows_.erase(table.rows_.begin());
  return table;
}

bool CsvTable::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

Result<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    return Error{Code::kInvalid, text("it has no column \"", name, "\"")};
  }
  return static_cast<std::size_t>(found - names_.begin());
}

Result<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view digits = field(row, column);
  double value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed == std::errc() && end == digits.data() + digits.size() && std::isfinite(value)) {
    return value;
  }
  return Error{Code::kInvalid,
               text("row ", row + 1, ", column ", column + 1, ": \"", digits, "\" is no number")};
}

Result<double> CsvTable::amount(std::size_t row, std::size_t column) const {
  EDL_TRY(const double value, number(row, column));
  if (value >= 0 && value <= kAmountMax) return value;
  return Error{Code::kInvalid, text("row ", row + 1, ", column ", column + 1, ": ", value,
                                    " is not from 0 to ", kAmountMax)};
}

Result<std::uint32_t> CsvTable::count(std::size_t row, std::size_t column,
                                      std::uint32_t least) const {
  EDL_TRY(const double value, number(row, column));
  if (value >= least && value <= kCountMax && value == std::floor(value)) {
    return static_cast<std::uint32_t>(value);
  }
  return Error{Code::kInvalid, text("row ", row + 1, ", column ", column + 1, ": ", value,
                                    " is no whole number from ", least, " to ", kCountMax)};
}

}  // namespace edl::simulator
